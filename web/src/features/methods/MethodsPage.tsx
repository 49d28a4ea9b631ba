import { useEffect, useState } from "react";
import { endpoints, useApi } from "../../api/queries";
import type { Methods } from "../../api/types";
import { Downloads } from "../../components/downloads";
import { SelectField } from "../../components/fields";
import { Await } from "../../components/status";
import { useDocumentTitle, usePage } from "../../hooks/usePage";
import { route, type AddressOf } from "../../routes";
import { Equations, Symbols } from "./Equation";
import { ProtocolDetails } from "./ProtocolDetails";

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
