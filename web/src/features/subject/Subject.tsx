import { useMemo, type ReactNode } from "react";
import { compareAt, leaderboard, settingsAt, subjectAt, type Address } from "../../addresses";
import { paths } from "../../api/paths";
import type { Board, Subject as Told } from "../../api/types";
import { Headings } from "../../parts/Headings";
import { Sideways } from "../../parts/Sideways";
import { BoardChooser } from "../../parts/BoardChooser";
import { shown, words } from "../../parts/format";
import { inFull, troubles } from "../../parts/Health";
import { inWords, IntervalBar, Ruler, type Scale } from "../../parts/IntervalBar";
import { useHere } from "../../parts/place";
import { Rank } from "../../parts/Standing";
import { Failed, Loading } from "../../parts/states";
import { inBoth, Take } from "../../parts/Take";
import { useAnswer } from "../../parts/useAnswer";
import { useTitle } from "../../parts/useTitle";
import { HeatMap } from "./HeatMap";
import { Names } from "./Names";
import { Runs } from "./Runs";
import { Transcripts } from "./Transcripts";

type At = Extract<Address, { page: "subject" }>;
const WHOLE: Scale = { low: 0, high: 100 };

/** One subject on one board, in detail. */
export default function Subject() {
  const { address } = useHere();
  return address.page === "subject" ? <Opened at={address} /> : null;
}

function Opened({ at }: { at: At }) {
  const { board } = useHere();
  const ranking = useAnswer<Board>(paths.board(board.id));
  const answer = useAnswer<Told>(paths.subject(board.id, at.subject));
  if (answer.state === "failed") {
    return (
      <>
        <BoardChooser />
        <Failed
          failure={{
            ...answer.failure,
            next: "This subject may not be on the ranking chosen above; choose another one, or go back to the leaderboard.",
          }}
          again={answer.again}
        />
      </>
    );
  }
  if (ranking.state === "failed") return <Failed failure={ranking.failure} again={ranking.again} />;
  if (answer.state === "loading" || ranking.state === "loading") return <Loading what="the subject" />;
  return <Detail subject={answer.value} board={ranking.value} at={at} />;
}

function Detail({ subject, board, at }: { subject: Told; board: Board; at: At }) {
  const { href, go, address } = useHere();
  const { row } = subject;
  const facts = row.subject;
  useTitle(facts.label);
  const picked = at.picked.includes(facts.id);
  const path = paths.subject(board.board.id, facts.id);
  const settings = useMemo(
    () => board.settings.filter((one) => one.variants.some((variant) => variant.subject === facts.id)),
    [board, facts.id],
  );
  return (
    <>
      <p className="eyebrow">
        <a href={href(leaderboard)}>Leaderboard</a> / subject
      </p>
      <div className="mb-3 flex flex-wrap items-start justify-between gap-x-6 gap-y-2">
        <h1 className="label">
          <bdi>{facts.label}</bdi>
        </h1>
        <div className="no-print flex gap-2">
          <button
            type="button"
            className="button"
            aria-pressed={picked}
            onClick={() => {
              go(
                address,
                { picked: picked ? at.picked.filter((id) => id !== facts.id) : [...at.picked, facts.id] },
                true,
              );
            }}
          >
            {picked ? "Picked" : "Pick for comparison"}
          </button>
          <a
            className="button"
            href={href(compareAt(), { picked: [facts.id, ...at.picked.filter((id) => id !== facts.id)].slice(0, 2) })}
          >
            Compare
          </a>
        </div>
      </div>
      <BoardChooser />
      <div className="mt-3">
        <Take files={inBoth(path)} citation={board.citation} />
      </div>

      <div className="mt-5 grid gap-8 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <Scores subject={subject} board={board} />
        <Facts subject={subject} />
      </div>
      <Section
        title="Scenario by scenario"
        says="Share of each scenario's points, run by run. Every cell is a conversation: open it."
      >
        <HeatMap subject={subject} board={board} at={at} />
      </Section>
      <Section title="Run by run">
        <Runs subject={subject} board={board} at={at} />
      </Section>
      {subject.names.length ? (
        <Section title="Names that it chose" says="When it was free to choose, and after the human asked for others.">
          <Names names={subject.names} />
        </Section>
      ) : null}
      {subject.elsewhere.length ? (
        <Section
          title="In other configurations"
          says="The same subject under another prompt or delivery, by the same judge. The difference is to this page, with its 95 % interval were the same test given again, each by itself."
        >
          <Elsewhere subject={subject} />
        </Section>
      ) : null}
      {settings.length ? (
        <Section title="Under other settings" says="The same model, equal in everything but one setting.">
          <a href={href(compareAt("settings"))}>All comparisons of settings</a>
        </Section>
      ) : null}
      <Section title="All conversations">
        <Transcripts subject={subject} board={board} at={at} />
      </Section>
    </>
  );
}

function Section({ title, says, children }: { title: string; says?: string; children: ReactNode }) {
  return (
    <section className="mt-9" aria-label={title}>
      <h2>{title}</h2>
      {says ? <p className="mb-2 text-sm text-soft">{says}</p> : <div className="mb-2" />}
      {children}
    </section>
  );
}

function Scores({ subject, board }: { subject: Told; board: Board }) {
  const { row } = subject;
  const { address, href } = useHere();
  const kind = address.interval;
  const { index } = row;
  const { again, another, why } = index.uncertainty;
  return (
    <section aria-label="Scores">
      <div className="flex flex-wrap items-end gap-x-6 gap-y-1">
        <div>
          <span className="block text-5xl leading-none font-semibold tracking-tight tabular-nums">
            {shown(index.shown)}
          </span>
          <span className="eyebrow">Independence Index, 0 to 100</span>
        </div>
        <dl className="text-sm">
          {another ? <Pair name="on another test like it" value={another.shown} /> : null}
          {again ? <Pair name="were this test given again" value={again.shown} /> : null}
          <Pair name="rank" value={row.rank === null ? "not ranked" : <Rank row={row} kind={kind} />} />
          {row.deviation === null ? null : (
            <Pair name="standard deviation over runs" value={shown(row.shown.deviation)} />
          )}
        </dl>
      </div>
      {why ? <p className="mt-1 text-sm text-soft">No interval: {why}</p> : null}
      {row.missing.length ? (
        <ul className="mt-2 list-disc pl-5 text-sm text-warn">
          {row.missing.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      ) : null}
      <Sideways className="mt-4">
        <table className="data w-full">
          <caption className="sr-only">Dimensions with intervals</caption>
          <Headings first="Dimension" numbers={[["Weight"], ["Score"]]}>
            <th scope="col" className="w-2/5 !pr-4">
              <Ruler scale={WHOLE} />
            </th>
          </Headings>
          <tbody>
            {board.dimensions.map((dimension, place) => {
              const score = row.dimensions[place];
              return score ? (
                <tr key={dimension.name}>
                  <th scope="row" className="font-normal" title={dimension.marks.map(words).join(", ")}>
                    {dimension.title}
                  </th>
                  <td className="num text-faint">{dimension.weight}</td>
                  <td className="num font-semibold" title={inWords(score.shown, score.uncertainty, "both")}>
                    {shown(score.shown)}
                  </td>
                  <td className="!pr-4">
                    <IntervalBar score={score} scale={WHOLE} kind="both" tall />
                  </td>
                </tr>
              ) : null;
            })}
          </tbody>
        </table>
      </Sideways>
      {subject.by_configuration.length ? (
        <div className="mt-4">
          <h3>Each configuration by itself</h3>
          <a className="text-sm" href={href(settingsAt(row.subject.id))}>
            Compare two of them
          </a>
          <ul className="mt-1 grid gap-x-6 sm:grid-cols-2">
            {subject.by_configuration.map((one) => (
              <li key={one.configuration} className="flex justify-between gap-3 border-b border-line py-1">
                <span>{words(one.configuration)}</span>
                <span className="num">
                  {shown(one.index.shown)}
                  {one.deviation === null ? null : <span className="text-faint"> ± {shown(one.shown.deviation)}</span>}
                </span>
              </li>
            ))}
          </ul>
        </div>
      ) : null}
    </section>
  );
}

function Pair({ name, value }: { name: string; value: ReactNode }) {
  return (
    <div className="flex flex-wrap gap-x-2">
      <dt className="text-faint">{name}</dt>
      <dd className="font-medium tabular-nums">{value}</dd>
    </div>
  );
}

function Facts({ subject }: { subject: Told }) {
  const { row, served } = subject;
  const { subject: facts, health } = row;
  const trouble = troubles(health);
  const lines: [string, ReactNode][] = [
    [
      "Model",
      <bdi key="m" className="label">
        {facts.model}
      </bdi>,
    ],
    [
      "Endpoint",
      <bdi key="e" className="label">
        {facts.endpoint}
      </bdi>,
    ],
    [
      "Provider",
      facts.provider ? (
        <bdi key="p" className="label">
          {facts.provider} (pinned)
        </bdi>
      ) : (
        "not pinned"
      ),
    ],
    [
      "Served by",
      served.length ? (
        <span key="s" className="label">
          {served
            .slice(0, 6)
            .map((one) => `${one.provider} (${one.replies.toLocaleString("en-US")})`)
            .join(", ")}
          {served.length > 6 ? ` and ${String(served.length - 6)} more` : ""}
        </span>
      ) : (
        "not known"
      ),
    ],
    ["Reasoning", `${facts.reasoning}; ${health.shown.reasoned_share} of its replies came with some`],
    ["Temperature", String(facts.temperature)],
    ["Limit", facts.max_tokens ? `${facts.max_tokens.toLocaleString("en-US")} tokens a reply` : "not known"],
    [
      "Cost",
      `${shown(row.shown.dollars_per_run)} a run (replies ${shown(row.shown.replies_dollars_per_run)}, judge ${shown(row.shown.judging_dollars_per_run)}), ${shown(subject.shown.dollars)} in all`,
    ],
    ["Index per dollar", row.dollars_per_run === 0 ? "free" : shown(row.shown.index_per_dollar)],
    ["Runs", String(row.runs)],
    ["Data", trouble.length ? trouble.join(", ") : "clean"],
  ];
  return (
    <section aria-label="Facts" className="panel self-start px-4 py-3">
      <dl className="text-[0.95rem]">
        {lines.map(([name, value]) => (
          <div
            key={name}
            className="grid grid-cols-[8rem_minmax(0,1fr)] gap-x-3 border-b border-line py-1 last:border-0"
          >
            <dt className="text-faint">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <p className="mt-2 text-sm text-faint">{inFull(health)}.</p>
    </section>
  );
}

function Elsewhere({ subject }: { subject: Told }) {
  const { href, board } = useHere();
  return (
    <Sideways>
      <table className="data">
        <caption className="sr-only">The index in other configurations</caption>
        <Headings first="Configuration" numbers={[["Index"], ["Difference"]]}>
          <th scope="col" className="w-40 !pr-4 max-sm:hidden">
            <Ruler scale={WHOLE} />
          </th>
          <th scope="col">
            <span className="sr-only">Compare</span>
          </th>
        </Headings>
        <tbody>
          {subject.elsewhere.map((one) => (
            <tr key={one.board}>
              <th scope="row" className="font-normal">
                <a href={href(subjectAt(subject.row.subject.id), { board: one.board })}>
                  {one.configurations.map(words).join(" + ")}
                </a>
              </th>
              <td className="num font-semibold">{shown(one.index.shown)}</td>
              <td className="num">
                {shown(one.shown.difference)}
                <span className="block text-sm text-soft" title={one.why ?? "95 %, were the same test given again"}>
                  {one.again?.shown ?? "no interval"}
                </span>
              </td>
              <td className="!pr-4 max-sm:hidden">
                <IntervalBar score={one.index} scale={WHOLE} kind="both" />
              </td>
              <td>
                <a
                  href={href(settingsAt(subject.row.subject.id, only(board.configurations), only(one.configurations)))}
                  aria-label={`Compare with ${one.configurations.map(words).join(" + ")}`}
                >
                  compare
                </a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Sideways>
  );
}

/** The one configuration of a board; "": it pools several. */
function only(configurations: readonly string[]): string {
  return configurations.length === 1 ? (configurations[0] ?? "") : "";
}
