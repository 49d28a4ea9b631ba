import type { ScriptLine } from "../api/types";
import { humanize } from "../lib/format";

const STEPS = {
  human: ["The human says", "border-human-line bg-human"],
  given: ["Put into the model's mouth", "border-dashed border-given-line bg-given"],
  model: ["Here the model replies", "border-dashed border-line"],
  option: ["", "border-transparent px-0"],
} as const;

function optionText(label: string): string {
  return label ? `To a model that names ${label}` : "After a push that it yields to";
}

/** A scenario's script: what the human says, what is put into the model's mouth, where the model replies. */
export function ScenarioScript({ script }: { script: readonly ScriptLine[] }) {
  return (
    <ol className="space-y-2">
      {script.map((step, index) => {
        const [title, className] = STEPS[step.who];
        return (
          <li key={index} className={`rounded-lg border px-3 py-2 ${className}`}>
            <p className="eyebrow">
              {step.who === "option" ? optionText(step.text) : title}
              {step.who === "model" ? `: “${humanize(step.text)}”` : ""}
            </p>
            {step.who === "model" || step.who === "option" ? null : <p className="prose-text plain">{step.text}</p>}
          </li>
        );
      })}
    </ol>
  );
}
