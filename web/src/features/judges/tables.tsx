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
    hint: "Where it lies if the models are a sample, each interval alone",
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

export function JudgesTable({ panel, letterOf }: PanelProps) {
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
          <ExamLine exam={row.exam?.line ?? null} className="font-normal" />
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
      hint: "What this judge costs for one run of one model",
      numeric: true,
      cell: (row) => (row.dollars_per_run === 0 ? "free" : orDash(row.shown.dollars_per_run)),
    },
    shownColumn("seconds_per_run", "Seconds a run", {
      hint: "What its calls for one run of one model take, one after the other",
    }),
    numberColumn("flagged", "To read", (row) => count(row.flagged)),
  ];
  const main = panel.main_judge ? ` Main judge, used where no other is named: ${panel.main_judge}.` : "";
  return (
    <TableSection
      title="The judges"
      description={`${plural(panel.conversations, "conversation")}. Leniency: its index minus the mean of the other judges', over the models that all of them have judged completely; its interval is for other models like these (three or more). To read: judgements that a person should read.${main}`}
      rows={panel.judges}
      columns={columns}
      rowKey={(row) => row.label}
      caption="The judges"
    />
  );
}

const KAPPAS = 10; // pairs of judges listed for each mark

export function AgreementTable({ panel, letterOf }: PanelProps) {
  const columns: Column<Validation["marks"][number]>[] = [
    column("mark", "Score", ({ mark }) => humanize(mark), { rowHeader: true, cellHint: ({ asks }) => asks }),
    numberColumn("conversations", "Conversations", (row) => count(row.conversations)),
    shownColumn("alpha", "Alpha", { cellClass: "font-semibold" }),
    intervalColumn((row) => row.alpha_interval),
    barColumn("−1 to 1, chance in the middle", 1, (row) => ({
      value: row.alpha,
      text: row.shown.alpha,
      interval: row.alpha_interval,
    })),
    column(
      "kappas",
      "Kappa of each pair",
      ({ kappas }) => {
        const known = kappas.filter(({ kappa }) => kappa !== null);
        const first = known
          .slice(0, KAPPAS)
          .map(({ judges, shown }) => `${judges.map(letterOf).join("")} ${shown.kappa}`);
        const more = known.length > KAPPAS ? ` … ${known.length - KAPPAS} more in the JSON` : "";
        return first.join(" · ") + more || "–";
      },
      { cellClass: "text-sm text-soft min-w-44" },
    ),
  ];
  return (
    <TableSection
      title="Agreement on each score"
      description="1 is perfect, 0 is chance. Alpha: Krippendorff's, all judges, and where it lies if the models are a sample; it is ordinal, and nominal for levels that have no order. Kappa: Cohen's with quadratic weights, each pair; levels that have no order have none. A dash: fewer than ten conversations, or scores that do not vary."
      rows={panel.marks}
      columns={columns}
      rowKey={(row) => row.mark}
      caption="Agreement on each score"
    />
  );
}

export function SubjectsTable({ panel, ids, letterOf }: PanelProps) {
  const { href } = usePage();
  const columns: Column<SubjectRow>[] = [
    {
      id: "label",
      title: "Model",
      rowHeader: true,
      ascendingFirst: true,
      cellClass: "min-w-40",
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
      sortValue: (row) => row.indices[label],
      cell: (row) => orDash(row.shown.indices[label]),
    })),
    shownColumn("mean", "Mean", { sortValue: (row) => row.mean }),
    shownColumn("spread", "Spread", {
      hint: "highest minus lowest",
      sortValue: (row) => row.spread,
    }),
  ];
  return (
    <TableSection
      title="Each model under each judge"
      description="The index by each judge, their mean, and the highest minus the lowest."
      rows={panel.subjects}
      columns={columns}
      rowKey={(row) => row.label}
      caption="Models under each judge"
    />
  );
}

export function SelfPreferenceTable({ panel, letterOf }: PanelProps) {
  const columns: Column<Validation["self_preference"][number]>[] = [
    column("judge", "Judge", (row) => letterOf(row.judge), { rowHeader: true, cellHint: (row) => row.judge }),
    column("whom", "Gives", (row) => (
      <>
        {row.whom}
        {row.family ? <bdi className="text-faint"> ({row.family})</bdi> : null}
      </>
    )),
    numberColumn("subjects", "Models", (row) => row.subjects),
    shownColumn("difference", "Difference"),
    shownColumn("elsewhere", "Elsewhere"),
    shownColumn("preference", "Prefers", { cellClass: "font-semibold" }),
    { ...intervalColumn((row) => row.preference_interval), cellHint: (row) => row.no_interval_because ?? undefined },
  ];
  const none = "No judge is also a model of this leaderboard, or of the same family as one.";
  const some =
    "Difference: its index minus the mean of the other judges', for its own kind; elsewhere: the same for all other models; prefers: the first minus the second, and where it lies if the models are a sample. A judge favours its own if all of the interval is above 0.";
  return (
    <Section title="What judges give themselves" description={panel.self_preference.length ? some : none}>
      {panel.self_preference.length ? (
        <DataTable
          rows={panel.self_preference}
          columns={columns}
          rowKey={(row) => `${row.judge} ${row.whom}`}
          caption="What judges give their own kind"
          className=""
        />
      ) : null}
    </Section>
  );
}
