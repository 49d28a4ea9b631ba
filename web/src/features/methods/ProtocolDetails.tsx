import { scaleRange, count, humanize, plural } from "../../lib/format";
import type { MarkScale, ProtocolMethod } from "../../api/types";
import { DataTable, type Column } from "../../components/tables";
import { Disclosure } from "../../components/sections";
import { ScenarioScript } from "../../components/ScenarioScript";
import { Unvalidated } from "../../components/labels";

/** One protocol in full: its dimensions, scenarios, rubrics, prompts. */
export function ProtocolDetails({ method }: { method: ProtocolMethod }) {
  const { protocol } = method;
  return (
    <div className="mt-2 space-y-5">
      <div>
        <h3 className="flex flex-wrap items-baseline gap-x-2">
          {protocol.title}
          {protocol.unvalidated ? <Unvalidated /> : null}
        </h3>
        <p className="plain text-soft">{method.description}</p>
        <p className="mt-1 text-sm text-faint">
          {plural(protocol.scenarios, "scenario")} · {plural(protocol.runs, "run")} asked for · temperature{" "}
          {method.temperature} · {count(method.max_tokens)} tokens a reply · played in{" "}
          {method.configurations.map(humanize).join(", ")} · meant to be marked by <bdi>{method.judge}</bdi> · hash{" "}
          <code>{protocol.hash.slice(0, 12)}</code>
        </p>
      </div>
      <DataTable
        rows={method.dimensions}
        columns={DIMENSIONS}
        rowKey={(row) => row.name}
        caption="Dimensions and weights"
      />
      {method.experiments.map((experiment) => (
        <div key={experiment.title}>
          <h3>{experiment.title}</h3>
          {experiment.scenarios.map((scenario) => (
            <Disclosure
              key={scenario.id}
              title={scenario.title}
              note={`marked: ${scenario.judged.map(humanize).join(", ")}`}
              className="border-b border-line py-1"
            >
              <ScenarioScript script={scenario.script} />
              {scenario.rubrics.map((rubric) => (
                <Disclosure key={rubric.name} title={`Rubric: ${humanize(rubric.name)}`} className="mt-2">
                  <p className="mb-2 text-sm text-soft">{rubric.marks.map(scaleText).join("; ")}</p>
                  <div className="plain">{rubric.text}</div>
                </Disclosure>
              ))}
            </Disclosure>
          ))}
        </div>
      ))}
      <div>
        <h3>System prompts</h3>
        {Object.entries(method.systems).map(([name, text]) => (
          <Disclosure key={name} title={humanize(name)} className="border-b border-line py-1">
            <div className="prose-text plain">{text || "none"}</div>
          </Disclosure>
        ))}
        {method.tool !== null && (
          <Disclosure
            title="tool role"
            note="how the model speaks through a tool"
            className="border-b border-line py-1"
          >
            <div className="prose-text plain">{method.tool_instructions}</div>
            <pre className="raw mt-2 rounded-lg bg-sunk p-3">{method.tool}</pre>
          </Disclosure>
        )}
      </div>
      <Disclosure title="What every judge is told first">
        <div className="prose-text plain">{method.judge_instructions}</div>
      </Disclosure>
    </div>
  );
}

const DIMENSIONS: readonly Column<ProtocolMethod["dimensions"][number]>[] = [
  { id: "dimension", title: "Dimension", rowHeader: true, cell: (row) => row.title },
  {
    id: "marks",
    title: "Made of",
    cellClass: "text-soft",
    cell: (row) => `${row.marks.map(humanize).join(" + ")}${row.inverted ? ", turned round: low counts as 100" : ""}`,
  },
  { id: "weight", title: "Weight", numeric: true, cell: (row) => row.weight || "shown only" },
];

function scaleText(scale: MarkScale): string {
  return `${scale.title}: ${scaleRange(scale, " to ")} – ${scale.asks}`;
}
