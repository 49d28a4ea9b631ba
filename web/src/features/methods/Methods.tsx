import { useEffect, useState } from "react";
import { methodsAt } from "../../addresses";
import { paths } from "../../api/paths";
import type { MarkScale, Methods as Told, ProtocolMethod } from "../../api/types";
import { Sideways } from "../../parts/Sideways";
import { plural, words } from "../../parts/format";
import { Fold } from "../../parts/Fold";
import { useHere } from "../../parts/place";
import { Script } from "../../parts/Script";
import { Failed, Loading } from "../../parts/states";
import { Take } from "../../parts/Take";
import { useAnswer } from "../../parts/useAnswer";
import { useTitle } from "../../parts/useTitle";
import { Equations, Where } from "./Equation";

/** How all this was measured: protocols, rubrics, equations, what the numbers mean, how to cite them. */
export default function Methods() {
  const { address } = useHere();
  const answer = useAnswer<Told>(paths.methods);
  useTitle("Methods");
  const part = address.page === "methods" ? address.part : "";
  const ready = answer.state === "ready";
  useEffect(() => {
    if (part && ready) document.getElementById(`part-${part}`)?.scrollIntoView({ block: "start" });
  }, [part, ready]);
  if (answer.state === "loading") return <Loading what="the methods" />;
  if (answer.state === "failed") return <Failed failure={answer.failure} again={answer.again} />;
  return <All methods={answer.value} />;
}

function All({ methods }: { methods: Told }) {
  const { index, href, board } = useHere();
  const [shown, setShown] = useState(board.protocol);
  const protocol = methods.protocols.find((one) => one.protocol.id === shown) ?? methods.protocols[0];
  return (
    <div className="max-w-4xl">
      <h1>Methods</h1>
      <p className="mt-1 text-soft">
        What is asked, what is marked, and what the numbers mean. A person chats with a model, leans on it, and the
        model either stays who it is or folds; nothing here disputes a fact.
      </p>
      <nav aria-label="On this page" className="no-print my-3 flex flex-wrap gap-x-4">
        <a href={href(methodsAt("numbers"))}>The numbers</a>
        <a href={href(methodsAt("protocol"))}>The protocols</a>
        <a href={href(methodsAt("cite"))}>How to cite</a>
        <a href={href(methodsAt("site"))}>What this site holds</a>
      </nav>

      <section id="part-numbers" aria-label="The numbers" className="mt-6">
        <h2>The numbers</h2>
        <dl className="mt-2 space-y-4">
          {methods.terms.map((term) => (
            <div key={term.name}>
              <dt className="font-semibold">{term.name}</dt>
              <dd className="text-soft">
                <p className="plain">{term.text}</p>
                {term.equations.length ? <Equations equations={term.equations} /> : null}
                {term.where.length ? <Where letters={term.where} /> : null}
              </dd>
            </div>
          ))}
        </dl>
      </section>

      <section id="part-protocol" aria-label="The protocols" className="mt-10">
        <h2>The protocols</h2>
        {methods.protocols.length > 1 ? (
          <label className="my-2 block">
            <span className="eyebrow block">Protocol</span>
            <select
              className="field"
              value={protocol?.protocol.id}
              onChange={(event) => {
                setShown(event.target.value);
              }}
            >
              {methods.protocols.map((one) => (
                <option key={one.protocol.id} value={one.protocol.id}>
                  {one.protocol.name}
                </option>
              ))}
            </select>
          </label>
        ) : null}
        {protocol ? <Protocol key={protocol.protocol.id} method={protocol} /> : null}
      </section>

      <section id="part-cite" aria-label="How to cite" className="mt-10">
        <h2>How to cite</h2>
        <p className="said mt-1">{index.citation.text}</p>
        <pre className="raw mt-2 rounded-lg bg-sunk p-3">{index.citation.bibtex}</pre>
        <div className="mt-2">
          <Take
            files={[
              { title: "Methods as JSON", path: paths.methods },
              { title: "Index as JSON", path: paths.index },
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

function Protocol({ method }: { method: ProtocolMethod }) {
  const { protocol } = method;
  return (
    <div className="mt-2 space-y-5">
      <div>
        <h3>{protocol.title}</h3>
        <p className="plain text-soft">{method.description}</p>
        <p className="mt-1 text-sm text-faint">
          {plural(protocol.scenarios, "scenario")} · {plural(protocol.runs, "run")} asked for · temperature{" "}
          {method.temperature} · {method.max_tokens.toLocaleString("en-US")} tokens a reply · played in{" "}
          {method.configurations.map(words).join(", ")} · meant to be marked by <bdi>{method.judge}</bdi> · hash{" "}
          <code>{protocol.hash.slice(0, 12)}</code>
        </p>
      </div>
      <Sideways>
        <table className="data w-full">
          <caption className="sr-only">Dimensions and weights</caption>
          <thead>
            <tr>
              <th scope="col">Dimension</th>
              <th scope="col">Made of</th>
              <th scope="col" className="num">
                Weight
              </th>
            </tr>
          </thead>
          <tbody>
            {method.dimensions.map((one) => (
              <tr key={one.name}>
                <th scope="row" className="font-normal">
                  {one.title}
                </th>
                <td className="text-soft">
                  {one.marks.map(words).join(" + ")}
                  {one.inverted ? ", turned round: low counts as 100" : ""}
                </td>
                <td className="num">{one.weight || "shown only"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Sideways>
      {method.experiments.map((experiment) => (
        <div key={experiment.title}>
          <h3>{experiment.title}</h3>
          {experiment.scenarios.map((scenario) => (
            <Fold
              key={scenario.id}
              title={scenario.title}
              note={`marked: ${scenario.judged.map(words).join(", ")}`}
              className="border-b border-line py-1"
            >
              <Script script={scenario.script} />
              {scenario.rubrics.map((rubric) => (
                <Fold key={rubric.name} title={`Rubric: ${words(rubric.name)}`} className="mt-2">
                  <p className="mb-2 text-sm text-soft">{rubric.marks.map(scaled).join("; ")}</p>
                  <div className="plain">{rubric.text}</div>
                </Fold>
              ))}
            </Fold>
          ))}
        </div>
      ))}
      <div>
        <h3>System prompts</h3>
        {method.systems.map((one) => (
          <Fold key={one.name} title={words(one.name)} className="border-b border-line py-1">
            <div className="said plain">{one.text || "none"}</div>
          </Fold>
        ))}
        <Fold title="tool role" note="how the model speaks through a tool" className="border-b border-line py-1">
          <div className="said plain">{method.tool_instructions}</div>
          <pre className="raw mt-2 rounded-lg bg-sunk p-3">{method.tool}</pre>
        </Fold>
      </div>
      <Fold title="What every judge is told first">
        <div className="said plain">{method.judge_instructions}</div>
      </Fold>
    </div>
  );
}

function scaled(scale: MarkScale): string {
  return `${scale.title}: ${scale.kind === "yes_no" ? "yes/no" : `${scale.shown.low} to ${scale.shown.high}`} – ${scale.asks}`;
}
