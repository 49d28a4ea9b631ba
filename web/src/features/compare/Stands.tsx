/** The mark of a difference that stands among all of its list. */
export function Stands() {
  return (
    <span className="text-accent" role="img" aria-label="stands:">
      ✱
    </span>
  );
}
