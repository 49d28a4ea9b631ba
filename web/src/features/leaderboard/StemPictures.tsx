import type { Board, BranchStatistics, Row } from "../../api/types";
import { DataTable, WithInterval, type Column } from "../../components/tables";
import { Disclosure } from "../../components/sections";
import { FoldCurves, MOST_CURVES, type Curve } from "../../components/FoldCurves";
import { usePage } from "../../hooks/usePage";
import { besideFigures, branchFigures } from "../../lib/branches";
import { route } from "../../routes";

interface Props {
  board: Board;
  ranked: readonly Row[]; // those that are shown
  picked: readonly string[];
}

/** Of a leaderboard of items: how long its models hold. */
export function StemPictures({ board, ranked, picked }: Props) {
  const standing = ranked.flatMap(({ subject, label, branches }): Curve[] =>
    branches?.folds ? [{ subject: subject.id, label: board.names[subject.id] ?? label, folds: branches.folds }] : [],
  );
  const chosen = standing.filter(({ subject }) => picked.includes(subject));
  const curves = (chosen.length ? chosen : standing).slice(0, MOST_CURVES);
  const known = ranked.filter((row): row is Known => row.branches !== null);
  if (!board.rows.some(({ branches }) => branches?.quantities.length)) return null;
  return (
    <section className="mt-8" aria-label="Branches">
      <h2>How the models respond to pressure</h2>
      {curves.length ? (
        <>
          <p className="mb-3 max-w-4xl text-sm text-soft">
            Each item is one opening and the conversations that continue it.{" "}
            {chosen.length
              ? `The curves are those of the picked models${chosen.length > MOST_CURVES ? `, of the first ${MOST_CURVES}` : ""}.`
              : standing.length > MOST_CURVES
                ? `The curves are those of the first ${MOST_CURVES}; pick others in the ranking.`
                : ""}
          </p>
          <FoldCurves curves={curves} />
        </>
      ) : (
        <p className="text-soft">No ranked model has judged branches, so there is nothing to draw.</p>
      )}
      <Disclosure title="All values of all branches as a table" className="mt-3">
        <FieldTable rows={known} />
      </Disclosure>
    </section>
  );
}

type Known = Row & { branches: BranchStatistics };

function FieldTable({ rows }: { rows: readonly Known[] }) {
  const { href } = usePage();
  const subjects = rows.map(({ branches }) => branches);
  const columns: Column<Known>[] = [
    {
      id: "subject",
      title: "Model",
      rowHeader: true,
      ascendingFirst: true,
      sortValue: ({ label }) => label,
      cell: ({ subject, label }) => (
        <a href={href(route("subject", { subject: subject.id }))} className="label text-ink">
          <bdi>{label}</bdi>
        </a>
      ),
    },
    ...[...branchFigures(subjects), ...besideFigures(subjects)].map(({ id, title, hint, of }): Column<Known> => ({
      id,
      title: <span className="inline-block max-w-20 whitespace-normal">{title}</span>,
      hint,
      numeric: true,
      sortValue: ({ branches }) => of(branches).value,
      cell: ({ branches }) => {
        const { shown, interval } = of(branches);
        return <WithInterval text={shown} interval={interval} />;
      },
    })),
  ];
  return (
    <DataTable
      rows={rows}
      columns={columns}
      rowKey={({ subject }) => subject.id}
      caption="Branches of the ranked models, with 95% intervals over other items of the kind"
    />
  );
}
