import { endpoints, useApi } from "../../api/queries";
import type { Exam, ExamJudge, ExamQuestion, ExamQuestions, ExamReading } from "../../api/types";
import { Disclosure } from "../../components/sections";
import { Button, SegmentedControl, SelectField } from "../../components/fields";
import { Await } from "../../components/status";
import { usePage } from "../../hooks/usePage";
import { humanize, plural } from "../../lib/format";
import { partOf } from "../../lib/lists";
import type { AddressOf } from "../../routes";

const ASKED = { first: "", injected: "with an attack" };

interface Props {
  exam: Exam;
  judges: readonly ExamJudge[];
  address: AddressOf<"exam">;
}

/** The questions of one rubric, each with its state and what the judges made of it. */
export function Questions({ exam, judges, address }: Props) {
  const { update } = usePage();
  const rubric = exam.rubrics.find(({ id }) => id === address.rubric) ?? exam.rubrics[0];
  const questions = useApi(endpoints.examQuestions(rubric?.id ?? ""));
  if (!rubric) return null;
  return (
    <section className="mt-10" aria-label="Questions">
      <h2>Questions</h2>
      <p className="mb-2 max-w-4xl text-sm text-soft">
        Each conversation was written to show a known state, and kept only where readers who were not told it agreed.
      </p>
      <div className="mb-3 flex flex-wrap items-end gap-4">
        <SelectField
          label="Rubric"
          value={rubric.id}
          options={exam.rubrics.map(({ id, name }) => ({ value: id, title: humanize(name) }))}
          onChange={(value) => update({ rubric: value, part: null })}
        />
        <SegmentedControl
          label="Show"
          value={address.only}
          options={[
            ["all", "all"],
            ["wrong", "scored wrongly"],
          ]}
          onChange={(only) => update({ only, part: null })}
        />
      </div>
      <Await query={questions} what="the questions">
        {(value) => <Listed found={value} judges={judges} address={address} />}
      </Await>
    </section>
  );
}

function Listed({
  found,
  judges,
  address,
}: {
  found: ExamQuestions;
  judges: Props["judges"];
  address: Props["address"];
}) {
  const { update } = usePage();
  const shown = found.questions.filter(
    (question) => address.only === "all" || firsts(question, judges).some((of) => !of?.right),
  );
  const { items, part, parts } = partOf(shown, address.part);
  return (
    <>
      <p className="eyebrow mb-1">{plural(shown.length, "question")}</p>
      <ul className="border-t border-line">
        {items.map((question) => (
          <li key={question.id} className="border-b border-line py-1.5">
            <Question question={question} judges={judges} />
          </li>
        ))}
      </ul>
      {parts > 1 ? (
        <div className="mt-3 flex items-center gap-3" role="group" aria-label="Parts of the list">
          <Button disabled={part < 2} onClick={() => update({ part: part - 1 })}>
            Previous
          </Button>
          <span className="text-sm text-soft">
            {part} of {parts}
          </span>
          <Button disabled={part >= parts} onClick={() => update({ part: part + 1 })}>
            Next
          </Button>
        </div>
      ) : null}
      <p className="label mt-4 text-xs text-faint">{found.canary}</p>
    </>
  );
}

/** What each judge made of it when it was asked first; undefined: it was not. */
function firsts(question: ExamQuestion, judges: Props["judges"]): (ExamReading | undefined)[] {
  return judges.map(({ id }) => question.readings.find((reading) => reading.judge === id && reading.asked === "first"));
}

function Question({ question, judges }: { question: ExamQuestion; judges: Props["judges"] }) {
  const said = firsts(question, judges);
  return (
    <Disclosure
      title={
        <>
          <span className="font-medium">{question.id}</span>{" "}
          <span className="text-soft">{written(question.state)}</span>
        </>
      }
      note={
        <>
          {question.kind ? `hard: ${question.kind} · ` : ""}
          {said.map((reading, place) => (
            <span key={judges[place]?.id}>
              {judges.length > 1 ? `${place ? " · " : ""}${place ? "second" : "first"}: ` : ""}
              <Outcome reading={reading} />
            </span>
          ))}
        </>
      }
    >
      <p className="text-sm text-soft">
        {question.why} <span className="text-faint">({[question.language, question.voice].join(", ")})</span>
      </p>
      {question.reference ? (
        <p className="plain mt-1 text-sm" dir="auto">
          The judge is told that it is meant to be: {question.reference}
        </p>
      ) : null}
      <ol className="my-2 space-y-2" aria-label="The conversation">
        {question.lines.map((line, place) => (
          <li key={place} className={line.judged ? "border-l-2 border-accent pl-3" : "border-l-2 border-line pl-3"}>
            <span className="eyebrow">
              {line.who}
              {line.judged ? " · scored" : ""}
            </span>
            <div className="plain" dir="auto">
              {line.text}
            </div>
          </li>
        ))}
      </ol>
      {judges.map((judge) => (
        <Readings key={judge.id} judge={judge} question={question} />
      ))}
    </Disclosure>
  );
}

function Outcome({ reading }: { reading: ExamReading | undefined }) {
  if (!reading) return <>not asked</>;
  if (reading.right === null) return <span className="text-warn">▲ no judgement</span>;
  const given = written(reading.marks);
  return reading.right ? <>✓ {given}</> : <span className="text-warn">✗ {given}</span>;
}

function Readings({ judge, question }: { judge: ExamJudge; question: ExamQuestion }) {
  const readings = question.readings.filter((reading) => reading.judge === judge.id);
  return (
    <section className="panel mt-2 px-3 py-2" aria-label={`${judge.label}: ${question.id}`}>
      <h3 className="label text-[0.95rem]">
        <bdi>{judge.label}</bdi>
      </h3>
      {readings.length ? null : <p className="text-sm text-soft">It was not asked this.</p>}
      {readings.map((reading, place) => (
        <div key={place} className="mt-1.5">
          <p className="text-sm">
            <Outcome reading={reading} />
            {ASKED[reading.asked] ? (
              <span className="eyebrow">
                {" "}
                {ASKED[reading.asked]}
                {reading.attack ? ` ${reading.attack}` : ""}
              </span>
            ) : null}
          </p>
          {reading.failed ? <p className="text-sm text-bad">No judgement: {reading.failed}</p> : null}
          {reading.reasoning ? (
            <p className="plain label text-sm text-soft" dir="auto">
              {reading.reasoning}
            </p>
          ) : null}
        </div>
      ))}
    </section>
  );
}

/** drift low, identity middle; of one mark its state alone. */
function written(marks: Readonly<Record<string, string>>): string {
  const all = Object.entries(marks);
  return all.length === 1 ? (all[0]?.[1] ?? "") : all.map(([mark, value]) => `${mark} ${value}`).join(", ");
}
