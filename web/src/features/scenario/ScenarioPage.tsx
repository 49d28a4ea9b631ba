import { useMemo } from "react";
import { endpoints, useApi } from "../../api/queries";
import type { SubjectReply, MarkScale, Scenario } from "../../api/types";
import { BoardChooser } from "../../components/BoardChooser";
import { Histograms } from "../../components/Histograms";
import { Disclosure } from "../../components/sections";
import { csvAndJson, Downloads } from "../../components/downloads";
import { ScenarioScript } from "../../components/ScenarioScript";
import { SelectField } from "../../components/fields";
import { Await, Empty } from "../../components/status";
import { useDocumentTitle, usePage } from "../../hooks/usePage";
import { orDash, plural } from "../../lib/format";
import { fits, sortRows } from "../../lib/sorting";
import { route, sort, type AddressOf } from "../../routes";
import { AnswerGroups } from "./AnswerGroups";

const NOT_ON_BOARD = "The ranking chosen above may not have this scenario; choose another one.";

/** One scenario: what became of it, and every subject's answer. */
export default function ScenarioPage({ address }: { address: AddressOf<"scenario"> }) {
  const { board } = usePage();
  const scenario = useApi(endpoints.scenario(board.id, address.scenario));
  return (
    <>
      {scenario.error && !scenario.data ? <BoardChooser /> : null}
      <Await query={scenario} what="all answers" explain={() => ({ next: NOT_ON_BOARD })}>
        {(value) => <Details scenario={value} address={address} />}
      </Await>
    </>
  );
}

function Details({ scenario, address }: { scenario: Scenario; address: AddressOf<"scenario"> }) {
  const { href, board, update } = usePage();
  const { facts, scales } = scenario;
  const stem = scenario.branch_scales.length > 0;
  const { find, sort: order } = address;
  useDocumentTitle(facts.title);
  const answers = useMemo(() => {
    const found = scenario.answers.filter((answer) => fits(`${answer.label} ${answer.text}`, find));
    return order ? sortRows(found, (one) => sortValue(one, order.by), order.descending) : found;
  }, [scenario, find, order]);
  return (
    <>
      <p className="eyebrow">
        <a href={href(route("scenarios"))}>Scenarios</a> / {facts.experiment}
      </p>
      <h1>{facts.title}</h1>
      <p className="mt-1 mb-3 flex flex-wrap gap-x-5 text-soft">
        <span>difficulty {orDash(facts.shown.difficulty)} of 100</span>
        <span>discrimination {orDash(facts.shown.discrimination)}</span>
        <span>{facts.shown.points} of the index's 100 points</span>
      </p>
      <BoardChooser />
      <div className="my-4 grid items-start gap-2 lg:grid-cols-2">
        <Disclosure
          title="The script"
          note={stem ? "the opening; what the branches say is in the methods" : "what is said to everybody"}
          className="panel px-3 py-1.5"
          open={scenario.script.length <= 4 && window.innerWidth >= 1024}
        >
          <ScenarioScript script={scenario.script} />
        </Disclosure>
        <Disclosure
          title="The rubric"
          note={(scenario.branch_scales.length ? scenario.branch_scales : scales)
            .map((one) => one.title.toLowerCase())
            .join(", ")}
          className="panel px-3 py-1.5"
        >
          {scenario.rubrics.map((text, index) => (
            <div key={index} className="plain mb-3">
              {text}
            </div>
          ))}
        </Disclosure>
      </div>
      <Histograms histograms={scenario.histograms} />
      <div className="no-print mt-5 mb-3 flex flex-wrap items-end gap-x-5 gap-y-2">
        <label>
          <span className="eyebrow block">Find in answers and names</span>
          <input
            type="search"
            className="field w-56"
            value={find}
            onChange={(event) => update({ find: event.target.value, part: null })}
          />
        </label>
        <SelectField
          label="Order"
          value={sort.format(order)}
          options={orders(scales)}
          onChange={(value) => update({ sort: sort.parse(value), part: null })}
        />
        <p role="status" className="pb-1.5 text-sm text-soft">
          {plural(answers.length, "answer")}
          {answers.length < scenario.answers.length ? ` of ${scenario.answers.length}` : ""}
        </p>
        <div className="ml-auto pb-1.5">
          <Downloads files={csvAndJson(endpoints.scenario(board.id, facts.id))} />
        </div>
      </div>
      {answers.length ? (
        <AnswerGroups scenario={scenario} answers={answers} address={address} />
      ) : (
        <Empty
          title={scenario.answers.length ? "No answer has all of these words." : "Nobody has been asked this yet."}
        />
      )}
    </>
  );
}

function orders(scales: readonly MarkScale[]) {
  const order = (by: string, descending: boolean) => sort.format({ by, descending });
  return [
    { value: "", title: "score, best first" },
    { value: order("score", false), title: "score, worst first" },
    ...scales.flatMap(({ name, title }) => [
      { value: order(`mark.${name}`, true), title: `${title}, highest first` },
      { value: order(`mark.${name}`, false), title: `${title}, lowest first` },
    ]),
    { value: order("label", false), title: "name" },
  ];
}

function sortValue(answer: SubjectReply, by: string): number | string | null {
  if (by === "label") return answer.label;
  if (by.startsWith("mark.")) {
    const name = by.slice(5);
    return Object.hasOwn(answer.marks, name) ? (answer.marks[name] ?? null) : null;
  }
  return answer.score;
}
