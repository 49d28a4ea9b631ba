import { Fragment } from "react";
import { endpoints, useApi } from "../../api/queries";
import type { Exam, ExamJudge, ExamFigure, ExamShare } from "../../api/types";
import { TableSection, headColumn, numberColumn, column, type Column } from "../../components/tables";
import { Disclosure } from "../../components/sections";
import { SelectField } from "../../components/fields";
import { Await, Empty } from "../../components/status";
import { useDocumentTitle, usePage } from "../../hooks/usePage";
import { count, plural, humanize } from "../../lib/format";
import { route, type AddressOf } from "../../routes";
import { Questions } from "./Questions";

/** How judges scored conversations of known state, and what that makes them fit for. */
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
        Judges score conversations whose correct scores are known; half of each rubric&apos;s questions are hard.
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
      <Empty title="No judge has been validated.">
        <code>aib exam -j MODEL</code> has one answer the {count(exam.questions)} questions of the exam. The embedded
        judge answers them free of charge.
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
      {beside ? <JudgeFigures judge={beside} /> : null}
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
    column("fit", "Result", (row) => row.sentence, { cellClass: "font-semibold" }),
    numberColumn("kappa", "Kappa", (row) => row.result.shown.kappa ?? "–", { hint: "Of its weakest rubric" }),
    numberColumn("rubrics", "Rubrics", (row) => row.result.rubrics.length),
    numberColumn("answers", "Answers", (row) => count(row.answers)),
    numberColumn("dollars", "Cost", (row) => row.result.shown.cost ?? "price not known", {
      hint: "Of all of its answers",
    }),
    numberColumn("sat", "Date", (row) => row.result.when.slice(0, 10), { hint: "Date of the last answer" }),
  ];
  return (
    <TableSection
      title="Judges that were validated"
      description={`${plural(judges.length, "judge")}. Result: that of its weakest rubric. Kappa: agreement with the correct scores in that rubric; 1 is perfect, 0 is chance.`}
      rows={judges}
      columns={columns}
      rowKey={(row) => row.id}
      caption="Judges that were validated"
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

const RESULTS = { "ranking": "fit for ranking", "not fit": "not fit", "not known": "not known" };

const FIGURES: Column<Rubric>[] = [
  headColumn("rubric", "Rubric", (row) => humanize(row.rubric)),
  column("fit", "Result", (row) => RESULTS[row.fitness.fit], { cellHint: (row) => row.fitness.why.join("; ") }),
  figure(
    "kappa",
    "Kappa",
    "Agreement with the known states: quadratic kappa, nominal where levels have no order",
    (row) => row.kappa,
  ),
  figure("failed", "Failed", "Share of answers without a valid judgement", (row) => row.failed),
  figure("swayed", "Swayed", "Scored higher if the words of the model attack the judge", (row) => row.swayed),
  numberColumn("dollars", "$ each", (row) => row.shown.dollars_a_verdict ?? "–", { hint: "A judgement" }),
];

/** All figures of one judge. */
function JudgeFigures({ judge }: { judge: ExamJudge }) {
  const { rubrics, fitness } = judge.result;
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
      </div>
    </>
  );
}
