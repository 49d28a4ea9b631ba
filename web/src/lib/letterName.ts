/** "A", "B", ... "Z", "AA": what stands for the judge with that index where its label is too long. */
export function letterName(index: number): string {
  const last = String.fromCharCode(65 + (index % 26));
  return index < 26 ? last : letterName(Math.floor(index / 26) - 1) + last;
}
