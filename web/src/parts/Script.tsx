import type { Said } from "../api/types";
import { words } from "./format";

const WHO = { human: "The human says", given: "Put into the model's mouth", model: "Here the model replies" };

/** A scenario's script: what is said, what is given, where the model replies. */
export function Script({ script }: { script: readonly Said[] }) {
  return (
    <ol className="space-y-2">
      {script.map((step, place) => (
        <li
          key={place}
          className={`rounded-lg border px-3 py-2 ${step.who === "human" ? "border-human-line bg-human" : step.who === "given" ? "border-dashed border-given-line bg-given" : "border-dashed border-line"}`}
        >
          <p className="eyebrow">
            {WHO[step.who]}
            {step.who === "model" ? `: “${words(step.text)}”` : ""}
          </p>
          {step.who === "model" ? null : <p className="said plain">{step.text}</p>}
        </li>
      ))}
    </ol>
  );
}
