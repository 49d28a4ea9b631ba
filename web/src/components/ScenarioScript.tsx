import type { ScriptLine } from "../api/types";
import { humanize } from "../lib/format";

const STEPS = {
  human: ["The human says", "border-human-line bg-human"],
  given: ["Put into the model's mouth", "border-dashed border-given-line bg-given"],
  model: ["Here the model replies", "border-dashed border-line"],
} as const;

/** A scenario's script: what the human says, what is put into the model's mouth, where the model replies. */
export function ScenarioScript({ script }: { script: readonly ScriptLine[] }) {
  return (
    <ol className="space-y-2">
      {script.map((step, index) => {
        const [title, className] = STEPS[step.who];
        return (
          <li key={index} className={`rounded-lg border px-3 py-2 ${className}`}>
            <p className="eyebrow">
              {title}
              {step.who === "model" ? `: “${humanize(step.text)}”` : ""}
            </p>
            {step.who === "model" ? null : <p className="prose-text plain">{step.text}</p>}
          </li>
        );
      })}
    </ol>
  );
}
