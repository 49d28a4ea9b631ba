import type { SubjectFacts } from "../api/types";

/** A subject's label: the model's name, and its settings in a fainter colour. */
export function SubjectLabel({ subject }: { subject: SubjectFacts }) {
  const { label, name } = subject;
  const end = label.startsWith(name) ? name.length : label.length;
  return (
    <bdi className="label">
      {label.slice(0, end)}
      {end < label.length ? <span className="text-[0.9em] text-faint">{label.slice(end)}</span> : null}
    </bdi>
  );
}
