import { endpoints, useApi, useApis } from "../../api/queries";
import type { MarkScale, Scenario, SubjectReply, Transcript, TranscriptEntry, TranscriptLine } from "../../api/types";
import { BoardChooser } from "../../components/BoardChooser";
import { MessageText } from "../../components/MessageText";
import { Await, Empty } from "../../components/status";
import { useDocumentTitle, usePage } from "../../hooks/usePage";
import { branchTitle, STATES } from "../../lib/branches";
import { humanize, orDash, heatColor, markText } from "../../lib/format";
import { route, type AddressOf } from "../../routes";
import { Label } from "../../components/labels";

const NOT_ON_BOARD = "The leaderboard chosen above may not have this; choose another one.";
const OPENING = "opening"; // the reply that all branches share

interface Props {
  address: AddressOf<"stem">;
}

/** One item of a character, or one case, in one run of one model: the opening, and the branches that go on from it. */
export default function StemPage({ address }: Props) {
  const { board } = usePage();
  const scenario = useApi(endpoints.scenario(board.id, address.scenario));
  return (
    <>
      {scenario.error && !scenario.data ? <BoardChooser /> : null}
      <Await query={scenario} what="the conversations" explain={() => ({ next: NOT_ON_BOARD })}>
        {(value) => <Found scenario={value} address={address} />}
      </Await>
    </>
  );
}

function Found({ scenario, address }: Props & { scenario: Scenario }) {
  const { href } = usePage();
  const answer = scenario.answers.find(
    (answer) =>
      answer.subject === address.subject &&
      answer.run === (address.run ?? answer.run) &&
      answer.configuration === (address.configuration || answer.configuration) &&
      answer.branches.length > 0,
  );
  if (answer) return <Branches scenario={scenario} answer={answer} />;
  return (
    <>
      <BoardChooser />
      <Empty title="This leaderboard has no such conversations.">
        <a href={href(route("scenario", { scenario: scenario.facts.id }))}>{scenario.facts.title}, over all models</a>
      </Empty>
    </>
  );
}

function Branches({ scenario, answer }: { scenario: Scenario; answer: SubjectReply }) {
  const { board, href, index } = usePage();
  const { facts } = scenario;
  const transcripts = useApis(answer.branches.map(({ id }) => endpoints.transcript(id)));
  const first = transcripts.find((transcript) => transcript !== undefined);
  useDocumentTitle(`${answer.label}: ${facts.title}`);
  return (
    <>
      <p className="eyebrow">
        <a href={href(route("scenarios"))}>Scenarios</a> /{" "}
        <a href={href(route("scenario", { scenario: facts.id }))}>{facts.title}</a>
      </p>
      <div className="flex flex-wrap items-baseline justify-between gap-x-6">
        <h1>{facts.title}</h1>
        <p hidden={!scenario.facts.points}>
          <span className="rounded px-2 text-2xl font-semibold tabular-nums" style={heatColor(answer.score)}>
            {answer.score === null ? STATES[answer.state] : orDash(answer.shown.score)}
          </span>{" "}
          {answer.score === null ? null : (
            <span className="text-soft">
              of 100 for this {index.characters[board.id] === undefined ? "case" : "item"}
            </span>
          )}
        </p>
      </div>
      <p className="text-sm text-soft">
        {facts.points
          ? `The score is ${scenario.made_of}, each in [0, 1]; below, 100 stands for 1.`
          : "A case is no part of the index. It shows whether the model moves by its own reasons; below, 100 stands for yes."}
      </p>
      <p className="mt-1 mb-3 flex flex-wrap items-center gap-1.5">
        <a href={href(route("subject", { subject: answer.subject, run: answer.run }))}>
          <Label text={answer.label} className="font-medium" />
        </a>
        <span className="chip">run {answer.run}</span>
        <span className="chip">{humanize(answer.configuration)}</span>
        <span className="chip">{facts.experiment}</span>
      </p>
      <BoardChooser />
      <section aria-label="The opening" className="mx-auto mt-5 max-w-3xl">
        <h2 className="mb-2">The opening, which all branches share</h2>
        {first ? <Lines lines={opening(first)} /> : null}
      </section>
      <div className="mt-6 grid items-start gap-x-4 gap-y-8 sm:grid-cols-[repeat(auto-fit,minmax(14rem,1fr))]">
        {answer.branches.map((entry, place) => (
          <Column key={entry.id} entry={entry} transcript={transcripts[place]} scales={scenario.branch_scales} />
        ))}
      </div>
    </>
  );
}

interface ColumnProps {
  entry: TranscriptEntry;
  transcript: Transcript | undefined;
  scales: readonly MarkScale[];
}

/** One branch: what it is worth, its marks, and what was said after the opening. */
function Column({ entry, transcript, scales }: ColumnProps) {
  const { href } = usePage();
  const title = branchTitle(entry.branch ?? "");
  return (
    <section aria-label={title} className="min-w-0">
      <header className="mb-2 flex items-baseline justify-between gap-2 border-b border-line pb-1">
        <h2 className="text-base">
          <a href={href(route("transcript", { transcript: entry.id }))}>{title}</a>
        </h2>
        <span className="shrink-0 rounded px-1.5 font-semibold tabular-nums" style={heatColor(entry.score)}>
          {entry.score === null ? STATES[entry.state] : orDash(entry.shown.score)}
        </span>
      </header>
      <dl className="mb-3 text-sm">
        {positionsFirst(scales)
          .filter((scale) => Object.hasOwn(entry.marks, scale.name))
          .map((scale) => (
            <div key={scale.name} className="flex justify-between gap-2">
              <dt className="text-soft">{scale.title}</dt>
              <dd>{markText(scale, entry)}</dd>
            </div>
          ))}
      </dl>
      {entry.why ? <p className="mb-2 text-sm text-warn">{entry.why}</p> : null}
      {transcript ? <Lines lines={transcript.lines.slice(opening(transcript).length)} /> : null}
    </section>
  );
}

function positionsFirst(scales: readonly MarkScale[]): readonly MarkScale[] {
  const isPosition = ({ name }: MarkScale) => name.startsWith("position_");
  return [...scales.filter(isPosition), ...scales.filter((scale) => !isPosition(scale))];
}

/** Up to the reply that all branches share. */
function opening({ lines }: Transcript): readonly TranscriptLine[] {
  return lines.slice(0, lines.findIndex((line) => line.reply === OPENING) + 1);
}

const SPEAKERS = {
  human: ["The human", "border-human-line bg-human"],
  given: ["Put into the model's mouth", "border-dashed border-given-line bg-given"],
  model: ["The model", "border-line bg-model"],
} as const;

function Lines({ lines }: { lines: readonly TranscriptLine[] }) {
  return (
    <ol className="space-y-2">
      {lines.map((line, number) => {
        const [who, className] = SPEAKERS[line.who];
        return (
          <li key={number} className={`rounded-lg border px-3 py-2 ${className}`}>
            <p className="eyebrow">
              {who}
              {line.reply ? `: ${humanize(line.reply)}` : ""}
            </p>
            <div className="prose-text text-[0.95rem]">
              <MessageText text={line.text} />
            </div>
          </li>
        );
      })}
    </ol>
  );
}
