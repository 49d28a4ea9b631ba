import type { Interval, JudgePanel, SubjectRow, Validation } from "../../api/types";
import { TableSection, DataTable, shownColumn, numberColumn, column, type Column } from "../../components/tables";
import { DifferenceBar } from "../../components/bars";
import { ExamLine, Label } from "../../components/labels";
import { Section } from "../../components/sections";
import { usePage } from "../../hooks/usePage";
import { count, humanize, orDash, plural } from "../../lib/format";
import { route } from "../../routes";

export interface PanelProps {
  panel: Validation;
  ids: JudgePanel; // of what is named in it
  letterOf: (judge: string) => string; // a judge's label -> the letter that stands for it
}

const KINDS = { model: "a model", table: "the embedded table", person: "a person", jury: "a jury" };

/** Where the number before it lies if the subjects are a sample. */
function intervalColumn<T>(interval: (row: T) => Interval | null): Column<T> {
  return numberColumn("interval", "95% CI", (row) => orDash(interval(row)?.shown), {
    hint: "Where it lies if the subjects are a sample, each interval alone",
    cellClass: "text-soft",
  });
}

/** The same as a picture, around zero; *reach* is the end of the scale on both sides. */
function barColumn<T>(
  title: string,
  reach: number,
  of: (row: T) => { value: number | null; text: string | null; interval: Interval | null },
): Column<T> {
  return {
    id: "bar",
    title: <span className="font-normal text-faint">{title}</span>,
    className: "min-w-56 w-72 max-md:hidden",
    cellClass: "!align-middle",
    cell: (row) => <DifferenceBar {...of(row)} reach={reach} />,
  };
}

/** The end of a scale on which all of *values* lie: a whole five. */
function reachOf(values: readonly (number | null | undefined)[]): number {
  return 5 * Math.max(1, Math.ceil(Math.max(0, ...values.map((value) => Math.abs(value ?? 0))) / 5));
}

export function JudgesTable({ panel, ids, letterOf }: PanelProps) {
  const intervals = panel.judges.flatMap(({ leniency_interval: one }) => [one?.low, one?.high]);
  const reach = reachOf([...intervals, ...panel.judges.map((judge) => judge.leniency)]);
  const columns: Column<Validation["judges"][number]>[] = [
    column("letter", <span className="sr-only">Letter</span>, (row) => letterOf(row.label), {
      cellClass: "font-semibold text-accent",
    }),
    {
      id: "judge",
      title: "Judge",
      rowHeader: true,
      cellClass: "label min-w-44",
      cell: (row) => (
        <>
          <bdi>{row.label}</bdi>
          <ExamLine exam={ids.exams[panel.judges.indexOf(row)] ?? null} className="font-normal" />
        </>
      ),
    },
    column("kind", "Kind", (row) => KINDS[row.kind], { cellClass: "text-soft whitespace-nowrap" }),
    numberColumn("judged", "Judged", (row) => count(row.judged)),
    shownColumn("failed_share", "Failed", { cellClass: (row) => (row.failed ? "text-warn" : "") }),
    shownColumn("leniency", "Leniency"),
    intervalColumn((row) => row.leniency_interval),
    ...(panel.judges.length > 1
      ? [
          barColumn<Validation["judges"][number]>(`stricter −${reach} to +${reach} more lenient`, reach, (row) => ({
            value: row.leniency,
            text: row.shown.leniency,
            interval: row.leniency_interval,
          })),
        ]
      : []),
    {
      id: "dollars",
      title: "$ a run",
      hint: "What this judge costs for one run of one subject",
      numeric: true,
      cell: ({ run_cost: cost }) => (cost.dollars === 0 ? "free" : orDash(cost.shown.dollars)),
    },
    numberColumn("seconds", "Seconds a run", (row) => orDash(row.run_cost.shown.seconds), {
      hint: "What its calls for one run of one subject take, one after the other",
    }),
    numberColumn("flagged", "To read", (row) => count(row.flagged)),
  ];
  const main = panel.main ? ` Main judge, used where no other is named: ${panel.main}.` : "";
  return (
    <TableSection
      title="The judges"
      description={`${plural(panel.conversations, "conversation")}, each counted once, even where several runs said the same words. Leniency: its index minus the mean of the other judges', over the subjects that all of them have judged completely; its interval is for other subjects like these (three or more). To read: verdicts that a person should read.${main}`}
      rows={panel.judges}
      columns={columns}
      rowKey={(row) => row.label}
      caption="The judges"
    />
  );
}

const KAPPAS = 10; // pairs of judges listed for each mark

export function AgreementTables({ panel, letterOf }: PanelProps) {
  const marks: Column<Validation["marks"][number]>[] = [
    column("mark", "Mark", ({ mark }) => humanize(mark.name), { rowHeader: true, cellHint: ({ mark }) => mark.asks }),
    numberColumn("conversations", "Conversations", (row) => count(row.conversations)),
    shownColumn("alpha", "Alpha", { cellClass: "font-semibold" }),
    intervalColumn((row) => row.alpha_interval),
    barColumn("−1 to 1, chance in the middle", 1, (row) => ({
      value: row.alpha,
      text: row.shown.alpha,
      interval: row.alpha_interval,
    })),
    numberColumn("icc", "ICC(2,k)", (row) => (
      <>
        {orDash(row.shown.icc)}
        {row.icc === null ? "" : <span className="text-faint"> k={row.icc_judges}</span>}
      </>
    )),
    {
      id: "kappas",
      title: "Kappa of each pair",
      cellClass: "text-sm text-soft",
      cell: ({ shown: { kappas } }) => {
        const first = kappas.slice(0, KAPPAS);
        const more = kappas.length > KAPPAS ? ` … ${kappas.length - KAPPAS} more in the JSON` : "";
        return (
          first.map(([one, other, kappa]) => `${letterOf(one)}${letterOf(other)} ${orDash(kappa)}`).join(" · ") + more
        );
      },
    },
  ];
  const pairs: Column<Validation["pairs"][number]>[] = [
    column("judges", "Judges", (pair) => `${letterOf(pair.one)} and ${letterOf(pair.other)}`, {
      rowHeader: true,
      cellHint: (pair) => `${pair.one} and ${pair.other}`,
    }),
    numberColumn("subjects", "Subjects", (pair) => count(pair.subjects)),
    shownColumn("rank_correlation", "Rank correlation", { cellClass: "font-semibold" }),
    intervalColumn((pair) => pair.rank_interval),
    barColumn("−1 to 1", 1, (pair) => ({
      value: pair.rank_correlation,
      text: pair.shown.rank_correlation,
      interval: pair.rank_interval,
    })),
    numberColumn("conversations", "Conversations", (pair) => count(pair.conversations)),
    shownColumn("kappa", "Kappa"),
  ];
  return (
    <>
      <TableSection
        title="Agreement on each mark"
        description="1 is perfect, 0 is chance. Alpha: Krippendorff's, all judges, and where it lies if the subjects are a sample; ICC(2,k): how reliable the mean of the judges is; kappa: each pair. Alpha is ordinal and kappa quadratic; of levels that have no order, both go by names alone, and there is no ICC. A dash: fewer than ten conversations, or marks that do not vary. ICC and kappa have no interval: none that was tried keeps its promise where marks pile up at an end."
        rows={panel.marks}
        columns={marks}
        rowKey={(row) => row.mark.name}
        caption="Agreement on each mark"
      />
      <TableSection
        title="Agreement of each pair"
        description="Rank correlation: Spearman's, of the subjects' indices, and where it lies if the subjects are a sample; kappa: the mean over all marks."
        rows={panel.pairs}
        columns={pairs}
        rowKey={(pair) => `${pair.one} ${pair.other}`}
        caption="Agreement of each pair of judges"
        className=""
      />
    </>
  );
}

export function SubjectsTable({ panel, ids, letterOf }: PanelProps) {
  const { href } = usePage();
  const columns: Column<SubjectRow>[] = [
    {
      id: "label",
      title: "Subject",
      rowHeader: true,
      ascendingFirst: true,
      sortValue: (row) => row.label,
      cell: (row) => (
        <a
          href={href(route("subject", { subject: ids.subjects[panel.subjects.indexOf(row)] ?? "" }))}
          className="no-underline hover:underline"
        >
          <Label text={row.label} />
        </a>
      ),
    },
    ...panel.judges.map(({ label }, index): Column<SubjectRow> => ({
      id: `judge${index}`,
      title: letterOf(label),
      hint: label,
      numeric: true,
      sortValue: (row) => row.indices[index],
      cell: (row) => orDash(row.shown.indices[index]),
    })),
    shownColumn("mean", "Mean", { sortValue: (row) => row.mean }),
    shownColumn("spread", "Spread", {
      hint: "highest minus lowest",
      sortValue: (row) => row.spread,
    }),
  ];
  return (
    <TableSection
      title="Each subject under each judge"
      description="The index by each judge, their mean, and the highest minus the lowest."
      rows={panel.subjects}
      columns={columns}
      rowKey={(row) => row.label}
      caption="Subjects under each judge"
    />
  );
}

export function SelfPreferenceTable({ panel, letterOf }: PanelProps) {
  const columns: Column<Validation["favours"][number]>[] = [
    column("judge", "Judge", (row) => letterOf(row.judge), { rowHeader: true, cellHint: (row) => row.judge }),
    column("whom", "Gives", (row) => (
      <>
        {row.whom}
        {row.family ? <bdi className="text-faint"> ({row.family})</bdi> : null}
      </>
    )),
    numberColumn("subjects", "Subjects", (row) => row.subjects),
    shownColumn("own", "Own"),
    shownColumn("others", "Others give"),
    shownColumn("difference", "Difference"),
    shownColumn("elsewhere", "Elsewhere"),
    shownColumn("preference", "Prefers", { cellClass: "font-semibold" }),
    { ...intervalColumn((row) => row.interval), cellHint: (row) => row.why_no_interval ?? undefined },
  ];
  const none = "No judge is a subject here too, nor of the family of one: there is nothing to say of self-preference.";
  const some =
    "Elsewhere: the same difference for all other subjects; prefers: the difference minus that, and where it lies if the subjects are a sample, each interval alone. A judge favours its own where all of the interval is above 0.";
  return (
    <Section title="What judges give themselves" description={panel.favours.length ? some : none}>
      {panel.favours.length ? (
        <DataTable
          rows={panel.favours}
          columns={columns}
          rowKey={(row) => `${row.judge} ${row.whom}`}
          caption="What judges give their own kind"
          className=""
          scroll="lg:overflow-visible"
        />
      ) : null}
    </Section>
  );
}

/** What each judge gives a vendor's subjects more than the other judges do. */
export function VendorTable({ panel, letterOf }: PanelProps) {
  if (!panel.vendors.length) return null;
  const columns: Column<Validation["vendors"][number]>[] = [
    column("judge", "Judge", (row) => letterOf(row.judge), { rowHeader: true, cellHint: (row) => row.judge }),
    column("vendor", "Vendor", (row) => (
      <>
        <bdi>{row.vendor}</bdi>
        {row.own ? " (its own)" : ""}
      </>
    )),
    numberColumn("subjects", "Subjects", (row) => row.subjects),
    numberColumn("conversations", "Conversations", (row) => count(row.conversations), {
      hint: "That it and another judge have marked",
    }),
    shownColumn("difference", "Lenient"),
    intervalColumn((row) => row.interval),
  ];
  return (
    <TableSection
      title="What judges give each vendor"
      description="Lenient: points of 0-10 that it gives this vendor's subjects more than the other judges do."
      rows={panel.vendors}
      columns={columns}
      rowKey={(row) => `${row.judge} ${row.vendor}`}
      caption="What judges give each vendor"
    />
  );
}
