import { Button, SelectField } from "../../components/fields";
import type { BoardRow } from "../../api/types";
import { costOf, COST, LENGTH } from "../../components/boardRows";
import { DataTable, numberColumn, column, headColumn, type Column } from "../../components/tables";
import { SubjectLabel } from "../../components/labels";
import { usePage } from "../../hooks/usePage";
import { orDash } from "../../lib/format";
import { Section } from "../../components/sections";
import type { SharedParams } from "../../routes";
import type { Pair } from "./pairs";

interface Props {
  first: string;
  second: string;
  options: readonly { value: string; title: string }[];
  exclusive?: boolean; // what one side shows cannot be chosen on the other; else that exchanges the two
  onChoose: (first: string, second: string) => void;
}

/** The two that are compared, and a button that exchanges them. */
export function PairChooser({ first, second, options, exclusive = false, onChoose }: Props) {
  const without = (taken: string) =>
    options.map((option) => ({ ...option, disabled: exclusive && taken !== "" && option.value === taken }));
  return (
    <div className="grid gap-3 sm:grid-cols-[1fr_auto_1fr]">
      <SelectField
        label="First"
        selectClass="w-full"
        value={first}
        options={without(second)}
        onChange={(chosen) => onChoose(chosen, chosen && chosen === second ? first : second)}
      />
      <Button
        className="self-end justify-self-start"
        disabled={!first || !second}
        onClick={() => onChoose(second, first)}
        aria-label="Swap the two"
      >
        ⇄
      </Button>
      <SelectField
        label="Second"
        selectClass="w-full"
        value={second}
        options={without(first)}
        onChange={(chosen) => onChoose(chosen && chosen === first ? second : first, chosen)}
      />
    </div>
  );
}

/** Whom the one subject that is chosen might be compared with. */
export function Suggestions({ rows, subject }: { rows: readonly BoardRow[]; subject: string }) {
  const { address, href } = usePage();
  const found = suggestions(rows, subject);
  const columns: Column<Suggestion>[] = [
    headColumn("subject", "Compare with", ({ row }) => (
      <a href={href(address, { picked: [subject, row.subject.id] })} aria-label={`Compare with ${row.subject.label}`}>
        <SubjectLabel subject={row.subject} />
      </a>
    )),
    column("why", "Because it is", ({ why }) => why, { cellClass: "text-sm text-soft" }),
    numberColumn("index", "Index", ({ row }) => orDash(row.index.shown)),
    numberColumn("cost", "$ a run", ({ row }) => orDash(costOf(row)), { className: "max-sm:hidden" }),
  ];
  if (!found.length) return <p className="mt-4 text-soft">Choose the second subject.</p>;
  return (
    <section className="mt-5" aria-label="Suggestions">
      <h2>Choose the second subject</h2>
      <DataTable
        rows={found}
        columns={columns}
        rowKey={({ row }) => row.subject.id}
        caption="Whom to compare it with"
        className=""
        scroll="mt-1"
      />
    </section>
  );
}

/** Whom to compare a subject with, and why. */
interface Suggestion {
  row: BoardRow;
  why: string; // one reason or several
}

const MOST = 6;

/** Ranked rows worth comparing *subject* (an id) with, each once; none where it is not ranked. */
export function suggestions(rows: readonly BoardRow[], subject: string): Suggestion[] {
  const ranked = rows.filter(({ rank }) => rank !== null);
  const place = ranked.findIndex((row) => row.subject.id === subject);
  const mine = ranked[place];
  if (!mine) return [];
  const others = ranked.filter((row) => row !== mine);
  const found: Suggestion[] = [];
  const add = (row: BoardRow | undefined, why: string) => {
    const already = found.find((suggestion) => suggestion.row === row);
    if (already) already.why += `; ${why}`;
    else if (row && row !== mine) found.push({ row, why });
  };
  for (const row of others.filter(({ subject: { name } }) => name === mine.subject.name).slice(0, 2))
    add(row, "the same model with other settings");
  add(ranked[place - 1], "the next higher index");
  add(ranked[place + 1], "the next lower index");
  const paid = mine.price?.dollars_per_run;
  if (paid != null)
    add(
      others.find(({ price }) => price?.dollars_per_run != null && price.dollars_per_run < paid),
      "the highest index at a lower price",
    );
  add(ranked[0], "the highest index");
  add(
    others.find(({ subject: { family } }) => family !== null && family === mine.subject.family),
    "the highest index of the same vendor",
  );
  return found.slice(0, MOST);
}

interface PickedProps {
  rows: readonly BoardRow[]; // three or more, the first being A
  pairs: readonly Pair[]; // each beside the first, as far as they are there
  kind: SharedParams["interval"];
}

/** Three picked subjects or more: what decides between them, each beside the first. */
export function PickedTable({ rows, pairs, kind }: PickedProps) {
  const { address, href } = usePage();
  const [first] = rows;
  const apart = (row: BoardRow) => pairs.find(({ subject }) => subject === row.subject.id)?.apart;
  const columns: Column<BoardRow>[] = [
    {
      id: "subject",
      title: "Picked",
      rowHeader: true,
      ascendingFirst: true,
      sortValue: ({ subject }) => subject.label,
      cell: (row) =>
        row === first ? (
          <SubjectLabel subject={row.subject} />
        ) : (
          <a
            href={href(address, { picked: beside(row.subject.id, address.picked) })}
            aria-label={`Compare the first with ${row.subject.label}`}
          >
            <SubjectLabel subject={row.subject} />
          </a>
        ),
    },
    COST,
    numberColumn("index", "Index", ({ index }) => orDash(index.shown), {
      sortValue: ({ index }) => index.value,
      cellClass: "font-semibold",
    }),
    {
      id: "interval",
      title: "95% interval",
      numeric: true,
      className: "max-sm:hidden",
      cellClass: "text-soft",
      cell: ({ index: { uncertainty } }) =>
        orDash((kind === "like" ? uncertainty.new_scenarios : uncertainty.rerun)?.shown),
    },
    {
      id: "difference",
      title: "Difference to the first",
      hint: "Its index minus the first one's, with the 95% interval of the difference",
      numeric: true,
      cell: (row) => {
        const found = apart(row);
        if (!found) return row === first ? "first" : "–";
        return (
          <>
            {orDash(found.shown[0])}{" "}
            <span className="text-sm text-soft max-sm:hidden">
              {orDash((kind === "like" ? found.new_scenarios : found.rerun)?.shown[0])}
            </span>
          </>
        );
      },
    },
    { ...LENGTH, className: "max-md:hidden" },
  ];
  return (
    <Section title="All picked subjects">
      <DataTable
        rows={rows}
        columns={columns}
        rowKey={({ subject }) => subject.id}
        caption="Price and index of the picked subjects"
      />
      <p className="mt-1 text-sm text-soft">
        Where the interval of a difference includes 0, those two cannot be told apart, each pair by itself. Choose
        another one to see it beside the first below.
      </p>
    </Section>
  );
}

/** *picked*, with *id* as the second. */
function beside(id: string, picked: readonly string[]): string[] {
  const [first = "", ...rest] = picked;
  return [first, id, ...rest.filter((one) => one !== id)];
}
