import { useMemo } from "react";
import { endpoints } from "../../api/endpoints";
import { useApi } from "../../api/queries";
import type { SubjectReply, MarkScale, Scenario } from "../../api/types";
import { BoardChooser } from "../../components/BoardChooser";
import { Disclosure } from "../../components/Disclosure";
import { csvAndJson, Downloads } from "../../components/Downloads";
import { MessageText } from "../../components/MessageText";
import { ScenarioScript } from "../../components/ScenarioScript";
import { SelectField } from "../../components/SelectField";
import { Await, Empty } from "../../components/status";
import { useDocumentTitle } from "../../hooks/useDocumentTitle";
import { usePage } from "../../hooks/usePage";
import { branchTitle, STATES } from "../../lib/branches";
import { humanize, orDash, plural } from "../../lib/format";
import { heatColor } from "../../lib/heatColor";
import { markText } from "../../lib/markText";
import { fits, sortRows } from "../../lib/sorting";
import { route, sort, type AddressOf } from "../../routes";
import { VirtualCards } from "./VirtualCards";

const NOT_ON_BOARD = "The ranking chosen above may not have this scenario; choose another one.";

/** One scenario: every subject's answer, the best first. */
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
    const found = scenario.answers.filter((one) => fits(`${one.label} ${one.text}`, find));
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
      <div className="no-print mb-3 flex flex-wrap items-end gap-x-5 gap-y-2">
        <label>
          <span className="eyebrow block">Find in answers and names</span>
          <input
            type="search"
            className="field w-56"
            value={find}
            onChange={(event) => update({ find: event.target.value })}
          />
        </label>
        <SelectField
          label="Order"
          value={sort.format(order)}
          options={orders(scales)}
          onChange={(value) => update({ sort: sort.parse(value) })}
        />
        <p role="status" className="pb-1.5 text-sm text-soft">
          {plural(answers.length, "answer")}
          {answers.length < scenario.answers.length ? ` of ${String(scenario.answers.length)}` : ""}
        </p>
        <div className="ml-auto pb-1.5">
          <Downloads files={csvAndJson(endpoints.scenario(board.id, facts.id))} />
        </div>
      </div>
      {answers.length ? (
        <VirtualCards items={answers} keyOf={(answer) => answer.transcript}>
          {(answer) => <Card answer={answer} scales={scales} pooled={board.configurations.length > 1} />}
        </VirtualCards>
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

function Card({ answer, scales, pooled }: { answer: SubjectReply; scales: readonly MarkScale[]; pooled: boolean }) {
  const { href } = usePage();
  const { subject, run, configuration, branches } = answer;
  const scenario = branches[0]?.scenario;
  const target = href(
    scenario === undefined
      ? route("transcript", { transcript: answer.transcript })
      : route("stem", { scenario, subject, run, configuration }),
  );
  const read = branches.length
    ? "All branches side by side"
    : answer.whole
      ? "Read the conversation"
      : "Read all of it";
  return (
    <article className="panel flex h-full flex-col px-4 py-3" aria-label={`${answer.label}, run ${String(answer.run)}`}>
      <header className="mb-1.5 flex items-baseline justify-between gap-3">
        <a href={target} className="min-w-0">
          <bdi className="label font-medium">{answer.label}</bdi>
        </a>
        <span className="shrink-0 rounded px-1.5 font-semibold tabular-nums" style={heatColor(answer.score)}>
          {answer.score === null ? STATES[answer.state] : orDash(answer.shown.score)}
        </span>
      </header>
      <p className="eyebrow mb-1.5">
        run {answer.run}
        {pooled ? ` · ${humanize(answer.configuration)}` : ""}
        {scales
          .filter((scale) => !branches.length && Object.hasOwn(answer.marks, scale.name))
          .map((scale) => ` · ${scale.title.toLowerCase()} ${markText(scale, answer)}`)
          .join("")}
        {answer.state === "no view" ? " · named no option, so the stem counts 0" : ""}
        {answer.cut_off ? " · cut off" : ""}
      </p>
      <div className="prose-text line-clamp-[12] flex-1">
        {answer.text ? (
          <MessageText text={answer.text} formatted={false} />
        ) : (
          <span className="text-soft">There is no reply.</span>
        )}
      </div>
      {branches.length ? (
        <ul className="mt-2 flex flex-wrap gap-1" aria-label="Its conversations">
          {branches.map((one) => (
            <li key={one.id}>
              <a className="chip" href={href(route("transcript", { transcript: one.id }))}>
                {branchTitle(one.branch ?? "")} {one.state === "judged" ? orDash(one.shown.score) : STATES[one.state]}
              </a>
            </li>
          ))}
        </ul>
      ) : null}
      <a href={target} className="mt-2 text-sm" aria-label={`${read}: ${answer.label}, run ${String(answer.run)}`}>
        {read}
      </a>
    </article>
  );
}
