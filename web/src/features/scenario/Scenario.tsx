import { useMemo } from "react";
import { scenariosAt, transcriptAt, type Address } from "../../addresses";
import { paths } from "../../api/paths";
import type { Answer, MarkScale, Scenario as Told } from "../../api/types";
import { BoardChooser } from "../../parts/BoardChooser";
import { plural, shown, words } from "../../parts/format";
import { Fold } from "../../parts/Fold";
import { heat } from "../../parts/Heat";
import { useHere } from "../../parts/place";
import { Said } from "../../parts/Said";
import { Script } from "../../parts/Script";
import { fits, sortRows } from "../../parts/sorting";
import { Empty, Failed, Loading } from "../../parts/states";
import { inBoth, Take } from "../../parts/Take";
import { useAnswer } from "../../parts/useAnswer";
import { useTitle } from "../../parts/useTitle";
import { Cards } from "./Cards";

type At = Extract<Address, { page: "scenario" }>;

/** One scenario over all subjects: every answer beside the others. */
export default function Scenario() {
  const { address } = useHere();
  return address.page === "scenario" ? <Opened at={address} /> : null;
}

function Opened({ at }: { at: At }) {
  const { board } = useHere();
  const answer = useAnswer<Told>(paths.scenario(board.id, at.scenario));
  if (answer.state === "loading") return <Loading what="all answers" />;
  if (answer.state === "failed") {
    return (
      <>
        <BoardChooser />
        <Failed
          failure={{
            ...answer.failure,
            next: "The ranking chosen above may not have this scenario; choose another one.",
          }}
          again={answer.again}
        />
      </>
    );
  }
  return <All scenario={answer.value} at={at} />;
}

function All({ scenario, at }: { scenario: Told; at: At }) {
  const { href, board, go } = useHere();
  const { facts, scales } = scenario;
  useTitle(facts.title);
  const answers = useMemo(() => {
    const there = scenario.answers.filter((one) => fits(`${one.label} ${one.text}`, at.find));
    return at.sort ? sortRows(there, (one) => valueOf(one, at.sort?.by ?? ""), at.sort.down) : there;
  }, [scenario, at.find, at.sort]);
  const path = paths.scenario(board.id, facts.id);
  return (
    <>
      <p className="eyebrow">
        <a href={href(scenariosAt)}>Scenarios</a> / {facts.experiment}
      </p>
      <h1>{facts.title}</h1>
      <p className="mt-1 mb-3 flex flex-wrap gap-x-5 text-soft">
        <span>difficulty {shown(facts.shown.difficulty)} of 100</span>
        <span>discrimination {shown(facts.shown.discrimination)}</span>
        <span>{facts.shown.points} of the index's 100 points</span>
      </p>
      <BoardChooser />
      <div className="my-4 grid items-start gap-2 lg:grid-cols-2">
        <Fold
          title="The script"
          note="what is said to everybody"
          className="panel px-3 py-1.5"
          open={scenario.script.length <= 4 && window.innerWidth >= 1024}
        >
          <Script script={scenario.script} />
        </Fold>
        <Fold
          title="The rubric"
          note={scales.map((one) => one.title.toLowerCase()).join(", ")}
          className="panel px-3 py-1.5"
        >
          {scenario.rubrics.map((text, place) => (
            <div key={place} className="plain mb-3">
              {text}
            </div>
          ))}
        </Fold>
      </div>
      <div className="no-print mb-3 flex flex-wrap items-end gap-x-5 gap-y-2">
        <label>
          <span className="eyebrow block">Find in answers and names</span>
          <input
            type="search"
            className="field w-56"
            value={at.find}
            onChange={(event) => {
              go({ ...at, find: event.target.value }, {}, true);
            }}
          />
        </label>
        <label>
          <span className="eyebrow block">Order</span>
          <select
            className="field"
            value={at.sort ? `${at.sort.down ? "-" : ""}${at.sort.by}` : ""}
            onChange={(event) => {
              const by = event.target.value;
              go({ ...at, sort: by ? { by: by.replace(/^-/, ""), down: by.startsWith("-") } : null }, {}, true);
            }}
          >
            <option value="">score, best first</option>
            <option value="score">score, worst first</option>
            {scales.flatMap((scale) => [
              <option key={`-${scale.name}`} value={`-mark.${scale.name}`}>{`${scale.title}, highest first`}</option>,
              <option key={scale.name} value={`mark.${scale.name}`}>{`${scale.title}, lowest first`}</option>,
            ])}
            <option value="label">name</option>
          </select>
        </label>
        <p role="status" className="pb-1.5 text-sm text-soft">
          {plural(answers.length, "answer")}
          {answers.length < scenario.answers.length ? ` of ${String(scenario.answers.length)}` : ""}
        </p>
        <div className="ml-auto pb-1.5">
          <Take files={inBoth(path)} />
        </div>
      </div>
      {answers.length ? (
        <Cards count={answers.length} keyOf={(place) => answers[place]?.transcript ?? ""}>
          {(place) => {
            const one = answers[place];
            return one ? <Card answer={one} scales={scales} pooled={board.configurations.length > 1} /> : null;
          }}
        </Cards>
      ) : (
        <Empty
          title={scenario.answers.length ? "No answer has all of these words." : "Nobody has been asked this yet."}
        />
      )}
    </>
  );
}

function valueOf(answer: Answer, by: string): number | string | null {
  if (by === "label") return answer.label;
  if (by.startsWith("mark.")) {
    const name = by.slice(5);
    return Object.hasOwn(answer.marks, name) ? (answer.marks[name] ?? null) : null;
  }
  return answer.score;
}

function Card({ answer, scales, pooled }: { answer: Answer; scales: readonly MarkScale[]; pooled: boolean }) {
  const { href } = useHere();
  const to = href(transcriptAt(answer.transcript));
  return (
    <article className="panel flex h-full flex-col px-4 py-3" aria-label={`${answer.label}, run ${String(answer.run)}`}>
      <header className="mb-1.5 flex items-baseline justify-between gap-3">
        <a href={to} className="min-w-0">
          <bdi className="label font-medium">{answer.label}</bdi>
        </a>
        <span className="shrink-0 rounded px-1.5 font-semibold tabular-nums" style={heat(answer.score)}>
          {answer.score === null ? SIGN[answer.state] : shown(answer.shown.score)}
        </span>
      </header>
      <p className="eyebrow mb-1.5">
        run {answer.run}
        {pooled ? ` · ${words(answer.configuration)}` : ""}
        {scales
          .filter((scale) => Object.hasOwn(answer.marks, scale.name))
          .map((scale) => ` · ${scale.title.toLowerCase()} ${said(scale, answer)}`)
          .join("")}
        {answer.cut_off ? " · cut off" : ""}
      </p>
      <div className="said line-clamp-[12] flex-1">
        {answer.text ? (
          <Said text={answer.text} formatted={false} />
        ) : (
          <span className="text-soft">There is no reply.</span>
        )}
      </div>
      <a
        href={to}
        className="mt-2 text-sm"
        aria-label={`Read the conversation with ${answer.label}, run ${String(answer.run)}`}
      >
        {answer.whole ? "Read the conversation" : "Read all of it"}
      </a>
    </article>
  );
}

const SIGN = { "judged": "–", "not judged": "not judged", "judge failed": "no verdict", "invalid": "invalid" };

function said(scale: MarkScale, answer: Answer): string {
  const value = answer.marks[scale.name];
  if (scale.kind === "yes_no" && (value === 0 || value === 1)) return value ? "yes" : "no";
  return shown(answer.shown.marks[scale.name]);
}
