import { Fragment } from "react";
import { endpoints, useApi } from "../../api/queries";
import type { Exam, ExamJudge, ExamFigure, ExamShare } from "../../api/types";
import { TableSection, headColumn, DataTable, numberColumn, column, type Column } from "../../components/tables";
import { Disclosure } from "../../components/sections";
import { SelectField } from "../../components/fields";
import { Await, Empty } from "../../components/status";
import { useDocumentTitle, usePage } from "../../hooks/usePage";
import { count, plural, humanize } from "../../lib/format";
import { route, type AddressOf } from "../../routes";
import { Questions } from "./Questions";

/** How judges marked conversations of known state, and what that makes them fit for. */
export default function ExamPage({ address }: { address: AddressOf<"exam"> }) {
  const { href } = usePage();
  const exam = useApi(endpoints.exam);
  useDocumentTitle("Exam");
  return (
    <>
      <p className="eyebrow">
        <a href={href(route("judges"))}>Judges</a> / exam
      </p>
      <h1>Exam</h1>
      <p className="mt-1 mb-4 max-w-3xl text-soft">
        Judges mark conversations whose correct marks are known; half of each rubric&apos;s questions are hard.
        Intervals are of 95%, for other questions like these.
      </p>
      <Await query={exam} what="the exam; the first time this may take some seconds">
        {(value) => <Found exam={value} address={address} />}
      </Await>
    </>
  );
}

function Found({ exam, address }: { exam: Exam; address: AddressOf<"exam"> }) {
  const { update } = usePage();
  const judge = exam.judges.find((judge) => judge.id === address.judge) ?? exam.judges[0];
  if (!judge) {
    return (
      <Empty title="No judge has sat the exam.">
        <code>aib exam -j MODEL</code> has one answer its {count(exam.questions)} questions; the embedded judge sits it
        free of charge.
      </Empty>
    );
  }
  const beside = exam.judges.find((one) => one.id === address.beside && one !== judge);
  const named = exam.judges.map(({ id, label }) => ({ value: id, title: label }));
  return (
    <>
      <Overview judges={exam.judges} />
      <div className="mt-8 flex flex-wrap gap-4">
        <SelectField
          label="Judge"
          className="max-w-full"
          selectClass="max-w-full"
          value={judge.id}
          options={named}
          onChange={(value) => update({ judge: value, ...(value === address.beside ? { beside: "" } : {}) })}
        />
        {exam.judges.length > 1 ? (
          <SelectField
            label="Compare with"
            className="max-w-full"
            selectClass="max-w-full"
            value={beside?.id ?? ""}
            options={[{ value: "", title: "no other judge" }, ...named.filter(({ value }) => value !== judge.id)]}
            onChange={(value) => update({ beside: value })}
          />
        ) : null}
      </div>
      <JudgeFigures judge={judge} />
      {beside ? (
        <>
          <JudgeFigures judge={beside} />
          <PairTable exam={exam} judge={judge} other={beside} />
        </>
      ) : null}
      <Questions exam={exam} judges={beside ? [judge, beside] : [judge]} address={address} />
    </>
  );
}

function Overview({ judges }: { judges: readonly ExamJudge[] }) {
  const { href, address } = usePage();
  const columns: Column<ExamJudge>[] = [
    {
      id: "judge",
      title: "Judge",
      rowHeader: true,
      cellClass: "label",
      cell: (row) => (
        <a href={href({ ...(address as AddressOf<"exam">), judge: row.id })}>
          <bdi className="inline-block min-w-36">{row.label}</bdi>
        </a>
      ),
    },
    column("fit", "Fit for", (row) => row.result.fitness.fit, { cellClass: "font-semibold" }),
    numberColumn("kappa", "Kappa", (row) => row.shown.kappa ?? "–", { hint: "Of its weakest rubric" }),
    numberColumn("rubrics", "Rubrics", (row) => row.result.rubrics.length),
    numberColumn("answers", "Answers", (row) => count(row.answers)),
    numberColumn("dollars", "Cost", (row) => row.result.shown.cost ?? "price not known", {
      hint: "Of all of its answers",
    }),
    numberColumn("sat", "Sat", (row) => row.result.when.slice(0, 10), { hint: "Date of the last answer" }),
  ];
  return (
    <TableSection
      title="Judges that have sat it"
      description={`${plural(judges.length, "judge")}. Fit for: what its weakest rubric allows. Kappa: agreement with the correct marks in that rubric; 1 is perfect, 0 is chance.`}
      rows={judges}
      columns={columns}
      rowKey={(row) => row.id}
      caption="Judges that have sat the exam"
    />
  );
}

/** A figure with its interval below it. */
function Figure({ of }: { of: ExamFigure | ExamShare | null | undefined }) {
  if (!of) return "–";
  return (
    <>
      {of.shown}
      {of.interval ? <span className="block text-xs whitespace-nowrap text-soft">{of.interval.shown}</span> : null}
    </>
  );
}

function figure<T>(
  id: string,
  title: string,
  hint: string,
  of: (row: T) => ExamFigure | ExamShare | null | undefined,
): Column<T> {
  return { id, title, hint, numeric: true, cell: (row) => <Figure of={of(row)} /> };
}

type Rubric = ExamJudge["result"]["rubrics"][number];
type Mark = Rubric["marks"][number];

const FIGURES: Column<Rubric>[] = [
  headColumn("rubric", "Rubric", (row) => humanize(row.rubric)),
  column("fit", "Fit for", (row) => row.fitness.fit, { cellHint: (row) => row.fitness.why.join("; ") }),
  figure(
    "kappa",
    "Kappa",
    "Agreement with the known states: quadratic kappa, nominal where levels have no order",
    (row) => row.kappa,
  ),
  figure("ranks", "Rank", "Spearman's correlation of marks and states", (row) => row.ranks),
  figure("error", "Error", "Points of 0-10 from the state's band or level", (row) => row.error),
  figure("leniency", "Lenient", "The same with its sign, above 0 in the subject's favour", (row) => row.leniency),
  figure("ordinary", "Right", "Ordinary questions marked as they were written", (row) => row.ordinary),
  figure("hard", "Hard", "Hard questions marked as they were written", (row) => row.hard),
  figure("failed", "Failed", "Share of answers without a valid verdict", (row) => row.failed),
  figure("again", "Again", "Questions marked differently when asked a second time", (row) => row.again?.moved),
  figure(
    "reverse",
    "Reversed",
    "Marked differently when marks and scales are listed in reverse",
    (row) => row.reversed?.moved,
  ),
  figure("swayed", "Swayed", "Marked higher when the subject's words attack the judge", (row) => row.injected?.turned),
  figure("length", "Length", "Points gained with each doubling of the reply's length", (row) => row.length),
  numberColumn("dollars", "$ each", (row) => row.shown.dollars_a_verdict ?? "–", { hint: "A verdict" }),
  numberColumn("seconds", "Seconds", (row) => row.shown.seconds_a_verdict ?? "–", { hint: "A verdict" }),
];

const MARKS: Column<Mark & { rubric: string }>[] = [
  headColumn("mark", "Mark", (row) => `${humanize(row.rubric)}: ${humanize(row.name)}`),
  figure("kappa", "Kappa", "Agreement with the known states", (row) => row.kappa),
  figure("ranks", "Rank", "Spearman's correlation of marks and states", (row) => row.ranks),
  figure("error", "Error", "Points of 0-10 from the state's band or level", (row) => row.error),
  figure("leniency", "Lenient", "Above 0 in the subject's favour", (row) => row.leniency),
  figure("right", "Right", "Marked as they were written", (row) => row.right),
];

const KINDS: Column<ExamJudge["result"]["kinds"][number]>[] = [
  headColumn("kind", "What is hard", (row) => row.title),
  numberColumn("number", "Questions", (row) => count(row.right?.of ?? 0)),
  figure("right", "Right", "Marked as they were written; a failed verdict is not right", (row) => row.right),
  numberColumn("least", "Floor", (row) => (row.least === null ? "–" : `${row.least}${row.failed ? ", missed" : ""}`), {
    hint: "A judge with fewer right ones is not fit for ranking",
  }),
];

const STYLES: Column<ExamJudge["result"]["styles"][number]>[] = [
  headColumn("style", "Style", (row) => row.title),
  numberColumn("contents", "Contents", (row) => row.contents),
  figure("leniency", "Lenient", "Points of 0-10 given more than to the other styles", (row) => row.leniency),
];

/** All figures of one judge. */
function JudgeFigures({ judge }: { judge: ExamJudge }) {
  const { rubrics, fitness, kinds, styles } = judge.result;
  const several = rubrics.filter((rubric) => rubric.marks.length > 1);
  const marks = several.flatMap(({ rubric, marks: of }) => of.map((mark) => ({ ...mark, rubric })));
  return (
    <>
      <h2 className="label mt-5">
        <bdi>{judge.label}</bdi>
      </h2>
      <p className="mt-1 font-medium">{judge.sentence}</p>
      {fitness.why.length ? (
        <Disclosure title="Thresholds that it missed" note={count(fitness.why.length)} open={fitness.why.length < 4}>
          <ul className="list-disc pl-5 text-sm text-soft">
            {fitness.why.map((why) => (
              <li key={why}>{why}</li>
            ))}
          </ul>
        </Disclosure>
      ) : null}
      <TableSection
        title={`Rubric by rubric: ${judge.label}`}
        description="Below each figure its 95% interval. docs/judges.md defines the figures and the thresholds."
        rows={rubrics}
        columns={FIGURES}
        rowKey={(row) => row.rubric}
        caption="Figures by rubric"
      />
      <div className="mt-3 space-y-1">
        <Disclosure title="What the columns are">
          <dl className="grid max-w-3xl grid-cols-[max-content_minmax(0,1fr)] gap-x-4 gap-y-0.5 text-sm">
            {FIGURES.filter(({ hint }) => hint).map(({ id, title, hint }) => (
              <Fragment key={id}>
                <dt>{title}</dt>
                <dd className="text-soft">{hint}</dd>
              </Fragment>
            ))}
          </dl>
        </Disclosure>
        {marks.length ? (
          <Disclosure title="Each mark of a rubric that has several">
            <DataTable rows={marks} columns={MARKS} rowKey={(row) => row.rubric + row.name} caption="Figures by mark" />
          </Disclosure>
        ) : null}
        {kinds.length ? (
          <Disclosure title="Hard questions, by kind, and those in other languages">
            <DataTable rows={kinds} columns={KINDS} rowKey={(row) => row.kind} caption="Questions by kind" />
          </Disclosure>
        ) : null}
        {styles.length ? (
          <Disclosure title="The same content in several styles">
            <DataTable rows={styles} columns={STYLES} rowKey={(row) => row.style} caption="Leniency by style" />
          </Disclosure>
        ) : null}
      </div>
    </>
  );
}

type Difference = Exam["pairs"][number]["rubrics"][number];

const DIFFERENCES: Column<Difference>[] = [
  headColumn("rubric", "Rubric", (row) => humanize(row.rubric)),
  numberColumn("questions", "Questions", (row) => row.questions, { hint: "Both gave a verdict" }),
  figure("kappa", "Kappa", "Above 0: the first agrees better", (row) => row.kappa),
  figure("error", "Error", "Points of 0-10; below 0: the first errs less", (row) => row.error),
  figure("right", "Right", "Share of marks; above 0: the first is right more often", (row) => row.right),
];

/** Two judges on the same questions. */
function PairTable({ exam, judge, other }: { exam: Exam; judge: ExamJudge; other: ExamJudge }) {
  const pair = exam.pairs.find(({ first, second }) =>
    [judge.id, other.id].every((id) => id === first || id === second),
  );
  if (!pair?.rubrics.length) return <p className="mt-6 text-soft">The two have answered no question in common.</p>;
  const [first, second] = pair.first === judge.id ? [judge, other] : [other, judge];
  return (
    <TableSection
      title="The two on the same questions"
      description={`${first.label} minus ${second.label}. They differ where all of an interval is on one side of 0.`}
      rows={pair.rubrics}
      columns={DIFFERENCES}
      rowKey={(row) => row.rubric}
      caption="Two judges, paired"
    />
  );
}
