import { endpoints, useApi } from "../../api/queries";
import type { Exam, ExamJudge } from "../../api/types";
import { DataTable, type Column } from "../../components/tables";
import { Section } from "../../components/sections";
import { SelectField } from "../../components/fields";
import { Await, Empty } from "../../components/status";
import { useDocumentTitle, usePage } from "../../hooks/usePage";
import { count, plural } from "../../lib/format";
import { route, type AddressOf } from "../../routes";
import { JudgeFigures, PairTable } from "./figures";
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
            label="Beside"
            className="max-w-full"
            selectClass="max-w-full"
            value={beside?.id ?? ""}
            options={[{ value: "", title: "nobody" }, ...named.filter(({ value }) => value !== judge.id)]}
            onChange={(value) => update({ beside: value })}
          />
        ) : null}
      </div>
      <JudgeFigures judge={judge} />
      {beside ? (
        <>
          <JudgeFigures judge={beside} />
          <PairTable exam={exam} one={judge} other={beside} />
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
    { id: "fit", title: "Fit for", cellClass: "font-semibold", cell: (row) => row.result.fitness.fit },
    {
      id: "kappa",
      title: "Kappa",
      hint: "Of its weakest rubric",
      numeric: true,
      cell: (row) => row.shown.kappa ?? "–",
    },
    { id: "rubrics", title: "Rubrics", numeric: true, cell: (row) => row.result.rubrics.length },
    { id: "answers", title: "Answers", numeric: true, cell: (row) => count(row.answers) },
    {
      id: "dollars",
      title: "Cost",
      hint: "Of all of its answers",
      numeric: true,
      cell: (row) => row.result.shown.cost ?? "price not known",
    },
    {
      id: "sat",
      title: "Sat",
      hint: "Date of the last answer",
      numeric: true,
      cell: (row) => row.result.when.slice(0, 10),
    },
  ];
  return (
    <Section
      title="Judges that have sat it"
      description={`${plural(judges.length, "judge")}. Fit for: what its weakest rubric allows. Kappa: agreement with the correct marks in that rubric; 1 is perfect, 0 is chance.`}
    >
      <DataTable
        rows={judges}
        columns={columns}
        rowKey={(row) => row.id}
        caption="Judges that have sat the exam"
        scroll="lg:overflow-visible"
      />
    </Section>
  );
}
