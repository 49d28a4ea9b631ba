/** Text of our own in which `backticks` stand around commands. */
export function CodeText({ text }: { text: string }) {
  return text.split("`").map((part, place) => (place % 2 ? <code key={place}>{part}</code> : part));
}
