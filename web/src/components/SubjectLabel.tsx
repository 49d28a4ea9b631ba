import type { SubjectFacts } from "../api/types";

/** A subject's label: the model's name, its vendor and settings in a fainter colour. */
export function SubjectLabel({ subject }: { subject: SubjectFacts }) {
  const { label, name } = subject;
  const end = label.startsWith(name) ? name.length : label.length;
  const start = label.slice(0, end).lastIndexOf("/") + 1;
  return (
    <bdi className="label">
      {start ? <span className="text-[0.9em] text-faint max-sm:hidden">{label.slice(0, start)}</span> : null}
      <wbr />
      {label.slice(start, end)}
      <wbr />
      {end < label.length ? <span className="text-[0.9em] text-faint">{label.slice(end)}</span> : null}
    </bdi>
  );
}
