import type { SubjectFacts } from "../api/types";

/** A subject's label: the model's name, and fainter its settings. Isolated: no letter turns what stands beside. */
export function Label({ subject }: { subject: SubjectFacts }) {
  const { label, name } = subject;
  const whole = label.startsWith(name) ? name.length : label.length;
  return (
    <bdi className="label">
      {label.slice(0, whole)}
      {whole < label.length ? <span className="text-[0.9em] text-faint">{label.slice(whole)}</span> : null}
    </bdi>
  );
}
