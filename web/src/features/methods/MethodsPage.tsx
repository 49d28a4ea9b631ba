import { useEffect, useState, createElement, type ReactNode } from "react";
import { endpoints, useApi } from "../../api/queries";
import type { Methods, MarkScale, ProtocolMethod, Equation, Letter, MathElement } from "../../api/types";
import { Downloads } from "../../components/downloads";
import { SelectField } from "../../components/fields";
import { Await } from "../../components/status";
import { useDocumentTitle, usePage } from "../../hooks/usePage";
import { route, type AddressOf } from "../../routes";
import { scaleRange, count, humanize, plural } from "../../lib/format";
import { headColumn, DataTable, numberColumn, type Column } from "../../components/tables";
import { Disclosure, ScrollArea } from "../../components/sections";
import { ScenarioScript } from "../../components/ScenarioScript";

/** How all this was measured: protocols, rubrics, equations, what the numbers mean, how to cite them. */
export default function MethodsPage({ address }: { address: AddressOf<"methods"> }) {
  const methods = useApi(endpoints.methods);
  useDocumentTitle("Methods");
  const { part } = address;
  const ready = methods.isSuccess;
  useEffect(() => {
    if (part && ready) document.getElementById(`part-${part}`)?.scrollIntoView({ block: "start" });
  }, [part, ready]);
  return (
    <Await query={methods} what="the methods">
      {(value) => <Sections methods={value} />}
    </Await>
  );
}

/** A term's name as it stands in an address. */
function anchor(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, "-");
}

function Sections({ methods }: { methods: Methods }) {
  const { index, href, board } = usePage();
  const [shown, setShown] = useState(board.protocol);
  const protocol = methods.protocols.find((method) => method.protocol.id === shown) ?? methods.protocols[0];
  return (
    <div className="max-w-4xl">
      <h1>Methods</h1>
      <p className="mt-1 text-soft">
        What is asked, what is marked, and what the numbers mean. A person chats with a model, leans on it, and the
        model either stays who it is or folds. No fact is in dispute.
      </p>
      <nav aria-label="On this page" className="no-print my-2 flex flex-wrap gap-x-4 [&>a]:py-1">
        <a href={href(route("methods", { part: "numbers" }))}>The numbers</a>
        <a href={href(route("methods", { part: "protocol" }))}>The protocols</a>
        <a href={href(route("methods", { part: "cite" }))}>How to cite</a>
        <a href={href(route("methods", { part: "site" }))}>What this site holds</a>
      </nav>

      <section id="part-numbers" aria-label="The numbers" className="mt-6">
        <h2>The numbers</h2>
        <dl className="mt-2 space-y-4">
          {methods.terms.map((term) => (
            <div key={term.name} id={`part-${anchor(term.name)}`} className="scroll-mt-4">
              <dt className="font-semibold">{term.name}</dt>
              <dd className="text-soft">
                <p className="plain">{term.text}</p>
                {term.equations.length ? <Equations equations={term.equations} /> : null}
                {term.where.length ? <Symbols letters={term.where} /> : null}
              </dd>
            </div>
          ))}
        </dl>
      </section>

      <section id="part-protocol" aria-label="The protocols" className="mt-10">
        <h2>The protocols</h2>
        {methods.protocols.length > 1 ? (
          <SelectField
            label="Protocol"
            className="my-2 block"
            value={protocol?.protocol.id ?? ""}
            options={methods.protocols.map((method) => ({
              value: method.protocol.id,
              title: method.protocol.name,
            }))}
            onChange={setShown}
          />
        ) : null}
        {protocol ? <ProtocolDetails key={protocol.protocol.id} method={protocol} /> : null}
      </section>

      <section id="part-cite" aria-label="How to cite" className="mt-10">
        <h2>How to cite</h2>
        <p className="prose-text mt-1">{index.citation.text}</p>
        <pre className="raw mt-2 rounded-lg bg-sunk p-3">{index.citation.bibtex}</pre>
        <div className="mt-2">
          <Downloads
            files={[
              { title: "Methods as JSON", path: endpoints.methods },
              { title: "Index as JSON", path: endpoints.index },
            ]}
          />
        </div>
      </section>

      <section id="part-site" aria-label="What this site holds" className="mt-10">
        <h2>What this site holds</h2>
        <ul className="mt-1 list-disc space-y-1 pl-5 text-soft">
          {index.offer.says.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      </section>
    </div>
  );
}

/** One protocol in full: its dimensions, scenarios, rubrics, prompts. */
function ProtocolDetails({ method }: { method: ProtocolMethod }) {
  const { protocol } = method;
  return (
    <div className="mt-2 space-y-5">
      <div>
        <h3 className="flex flex-wrap items-baseline gap-x-2">
          {protocol.title}
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
  headColumn("dimension", "Dimension", (row) => row.title),
  {
    id: "marks",
    title: "Made of",
    cellClass: "text-soft",
    cell: (row) => `${row.marks.map(humanize).join(" + ")}${row.inverted ? ", turned round: low counts as 100" : ""}`,
  },
  numberColumn("weight", "Weight", (row) => row.weight || "shown only"),
];

function scaleText(scale: MarkScale): string {
  return `${scale.title}: ${scaleRange(scale, " to ")} – ${scale.asks}`;
}

/** Equations, one below the other. Copying gets their TeX. */
export function Equations({ equations }: { equations: readonly Equation[] }) {
  return (
    <div className="equations">
      {equations.map((one) => (
        <EquationBlock key={one.tex} equation={one} />
      ))}
    </div>
  );
}

function EquationBlock({ equation }: { equation: Equation }) {
  return (
    <div
      onCopy={(event) => {
        event.clipboardData.setData("text/plain", equation.tex);
        event.preventDefault();
      }}
    >
      <ScrollArea label="an equation that scrolls sideways">
        {createElement("math", { display: "block", displaystyle: "true" }, mathml(equation.shown))}
      </ScrollArea>
    </div>
  );
}

/** What the symbols of equations mean. */
export function Symbols({ letters }: { letters: readonly Letter[] }) {
  return (
    <dl className="where">
      {letters.map((letter) => (
        <div key={letter.tex}>
          <dt>{createElement("math", null, mathml(letter.shown))}</dt>
          <dd>{letter.means}</dd>
        </div>
      ))}
    </dl>
  );
}

function mathml(one: MathElement): ReactNode {
  return createElement(one.name, one.attributes, one.text || null, ...one.parts.map(mathml));
}
