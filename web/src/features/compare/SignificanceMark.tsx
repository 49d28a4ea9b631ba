/** Marks a difference of more than chance, even with all others of its list looked at. */
export function SignificanceMark() {
  return (
    <span className="text-accent" role="img" aria-label="stands:">
      ✱
    </span>
  );
}
