/**
 * Which two of *there* are compared: those that were asked for, as far as they are there and are not one; else one of
 * *here*, the ranking that is open, and the first of the others. *there* has two or more.
 */
export function chosen(
  there: readonly string[],
  here: readonly string[],
  first: string,
  second: string,
): readonly [string, string] {
  const asked = there.includes(second) && second !== first ? second : "";
  const free = there.filter((one) => one !== asked);
  const one = free.find((name) => name === first) ?? free.find((name) => here.includes(name)) ?? free[0] ?? "";
  return [one, asked || (there.find((name) => name !== one) ?? "")];
}
