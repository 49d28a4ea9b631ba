import { useMemo } from "react";
import { endpoints, useApi } from "../../api/queries";
import type { SubjectReply, MarkScale, Scenario, MarkHistogram } from "../../api/types";
import { BoardChooser } from "../../components/BoardChooser";
import { Disclosure } from "../../components/sections";
import { csvAndJson, Downloads } from "../../components/downloads";
import { ScenarioScript } from "../../components/ScenarioScript";
import { SelectField } from "../../components/fields";
import { Await, Empty } from "../../components/status";
import { useDocumentTitle, usePage } from "../../hooks/usePage";
import { orDash, plural, count } from "../../lib/format";
import { fits, sortRows } from "../../lib/lists";
import { route, sort, type AddressOf } from "../../routes";
import { AnswerGroups } from "./AnswerGroups";

const NOT_ON_BOARD = "The leaderboard chosen above may not have this scenario; choose another one.";

/** One scenario: what became of it, and every model's answer. */
export default function ScenarioPage({ address }: { address: AddressOf<"scenario"> }) {
  const { board, index } = usePage();
  const { find, sort: order, group, part } = address;
  // in another order, and of what is found, all answers are looked through
  const whole = index.offer.frozen || find !== "" || order !== null;
  const scenario = useApi(
    whole
      ? endpoints.scenario(board.id, address.scenario)
      : endpoints.scenarioPart(board.id, address.scenario, group || "all", (part ?? 1) - 1),
  );
  return (
    <>
      {scenario.error && !scenario.data ? <BoardChooser /> : null}
      <Await query={scenario} what="all answers" explain={() => ({ next: NOT_ON_BOARD })}>
        {(value) => <Details scenario={value} address={address} whole={whole} />}
      </Await>
    </>
  );
}

interface DetailsProps {
  scenario: Scenario;
  address: AddressOf<"scenario">;
  whole: boolean; // all answers are there, not one part of them alone
}

function Details({ scenario, address, whole }: DetailsProps) {
  const { href, board, update } = usePage();
  const { facts, scales } = scenario;
  const stem = scenario.branch_scales.length > 0;
  const { find, sort: order } = address;
  useDocumentTitle(facts.title);
  const every = Object.values(scenario.groups).reduce((sum, one) => sum + one, 0);
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
        {facts.points ? (
          <>
            <span>difficulty {orDash(facts.shown.difficulty)} of 100</span>
            <span>discrimination {orDash(facts.shown.discrimination)}</span>
            <span>{facts.shown.points} of the index's 100 points</span>
          </>
        ) : (
          <span>a case that is no part of the index: it shows openness</span>
        )}
      </p>
      <BoardChooser />
      <div className="my-4 grid items-start gap-2 lg:grid-cols-2">
        <Disclosure
          title="The script"
          note={stem ? "the opening" : "what is said to everybody"}
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
          {plural(whole ? answers.length : every, "answer")}
          {whole && answers.length < every ? ` of ${every}` : ""}
        </p>
        <div className="ml-auto pb-1.5">
          <Downloads files={csvAndJson(endpoints.scenario(board.id, facts.id))} />
        </div>
      </div>
      {answers.length ? (
        <AnswerGroups scenario={scenario} answers={answers} address={address} whole={whole} />
      ) : (
        <Empty
          title={scenario.answers.length ? "No answer has all of these words." : "No model has been asked this yet."}
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

const [WIDE, HIGH, TOP, BOTTOM] = [300, 84, 14, 16];
const SHORT = 3; // characters of a text that stands under every bar; of longer ones only the ends' do

/** How often each value was given, side by side for several scores. */
function Histograms({ histograms }: { histograms: readonly MarkHistogram[] }) {
  return (
    <div className="grid gap-3 sm:grid-cols-2 lg:grid-cols-4">
      {histograms.map((one) => (
        <Histogram key={one.mark} histogram={one} />
      ))}
    </div>
  );
}

function Histogram({ histogram: { title, bars, answers } }: { histogram: MarkHistogram }) {
  const most = Math.max(1, ...bars.map((bar) => bar.count));
  const step = WIDE / bars.length;
  const short = bars.every(({ text }) => text.length <= SHORT) || bars.length <= SHORT;
  const words = bars.filter((bar) => bar.count).map((one) => `${one.text}: ${count(one.count)}`);
  return (
    <figure className="panel min-w-0 px-3 py-2">
      <figcaption className="flex items-baseline justify-between gap-2">
        <span className="font-semibold first-letter:uppercase">{title}</span>
        <span className="eyebrow">{plural(answers, "answer")}</span>
      </figcaption>
      <svg
        viewBox={`0 0 ${WIDE} ${TOP + HIGH + BOTTOM}`}
        className="h-auto w-full"
        role="img"
        aria-label={`${title}, how many answers have it. ${words.join("; ")}`}
      >
        <line x1={0} x2={WIDE} y1={TOP + HIGH} y2={TOP + HIGH} className="stroke-line" />
        {bars.map((bar, place) => {
          const high = (HIGH * bar.count) / most;
          const middle = step * (place + 0.5);
          const last = place === bars.length - 1;
          return (
            <g key={bar.text}>
              {bar.count ? (
                <>
                  <rect
                    x={step * place + 1.5}
                    y={TOP + HIGH - high}
                    width={step - 3}
                    height={high}
                    className="fill-accent/75"
                  >
                    <title>{`${bar.text}: ${count(bar.count)}`}</title>
                  </rect>
                  <text x={middle} y={TOP + HIGH - high - 3} textAnchor="middle" className="fill-soft text-[11px]">
                    {count(bar.count)}
                  </text>
                </>
              ) : null}
              {short || place === 0 || last ? (
                <text
                  x={short ? middle : last ? WIDE : 0}
                  y={TOP + HIGH + 13}
                  textAnchor={short ? "middle" : last ? "end" : "start"}
                  className="fill-faint text-[11px]"
                >
                  {bar.text}
                </text>
              ) : null}
            </g>
          );
        })}
      </svg>
    </figure>
  );
}
