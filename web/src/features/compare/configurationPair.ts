/**
 * The two of *all* configurations that are compared: *first* and *second*, as far as they exist and differ; else one of
 * *shown*, the ranking that is open, and the first of the others. *all* has two or more.
 */
export function configurationPair(
  all: readonly string[],
  shown: readonly string[],
  first: string,
  second: string,
): readonly [string, string] {
  const asked = all.includes(second) && second !== first ? second : "";
  const free = all.filter((one) => one !== asked);
  const one = free.find((name) => name === first) ?? free.find((name) => shown.includes(name)) ?? free[0] ?? "";
  return [one, asked || (all.find((name) => name !== one) ?? "")];
}
