import { useMemo } from "react";
import { scenarioAt } from "../../addresses";
import { paths } from "../../api/paths";
import type { Board, ScenarioFacts } from "../../api/types";
import { Sideways } from "../../parts/Sideways";
import { BoardChooser } from "../../parts/BoardChooser";
import { shown } from "../../parts/format";
import { Grid, type Column } from "../../parts/Grid";
import { useHere } from "../../parts/place";
import { Failed, Loading } from "../../parts/states";
import { Take } from "../../parts/Take";
import { useAnswer } from "../../parts/useAnswer";
import { useTitle } from "../../parts/useTitle";
import { Field } from "./Field";

/** All scenarios of a board: how hard each one is, and how well it tells subjects apart. */
export default function Scenarios() {
  const { board, address } = useHere();
  const answer = useAnswer<Board>(paths.board(board.id));
  useTitle("Scenarios");
  if (address.page !== "scenarios") return null;
  return (
    <>
      <h1>Scenarios</h1>
      <p className="mt-1 mb-4 max-w-3xl text-soft">
        Each one is a scripted conversation. Open one to read what every subject said in it, best first.
      </p>
      <BoardChooser />
      {answer.state === "loading" ? <Loading what="the scenarios" /> : null}
      {answer.state === "failed" ? <Failed failure={answer.failure} again={answer.again} /> : null}
      {answer.state === "ready" ? <All board={answer.value} /> : null}
    </>
  );
}

function All({ board }: { board: Board }) {
  const { address, go, href } = useHere();
  const columns = useMemo<Column<ScenarioFacts>[]>(
    () => [
      {
        id: "title",
        title: "Scenario",
        head: true,
        up: true,
        value: (row) => row.title,
        show: (row) => (
          <>
            <a href={href(scenarioAt(row.id))} className="font-medium">
              {row.title}
            </a>
            {row.verdicts.map((verdict) => (
              <span key={verdict} className="block text-sm text-warn">
                {verdict}
              </span>
            ))}
          </>
        ),
      },
      {
        id: "experiment",
        title: "Experiment",
        up: true,
        value: (row) => row.experiment,
        show: (row) => row.experiment,
        className: "max-xl:hidden",
      },
      {
        id: "points",
        title: "Points",
        hint: "How many of the index's 100 points are to be had in it",
        align: "right",
        className: "max-sm:hidden",
        value: (row) => row.points,
        show: (row) => row.shown.points,
      },
      {
        id: "difficulty",
        title: "Difficulty",
        hint: "Share of its points that subjects lose, in per cent",
        align: "right",
        value: (row) => row.difficulty,
        show: (row) => <Bar value={row.difficulty} says={row.shown.difficulty} />,
      },
      {
        id: "discrimination",
        title: "Discrimination",
        hint: "Correlation, over subjects, of its score with the points in all other scenarios: -1 to 1",
        align: "right",
        value: (row) => row.discrimination,
        show: (row) => (
          <>
            {shown(row.shown.discrimination)}
            {row.discrimination_interval ? (
              <span className="eyebrow ml-1.5 max-sm:hidden">{row.discrimination_interval.shown}</span>
            ) : null}
          </>
        ),
      },
      {
        id: "share",
        title: "Share",
        hint: "Its share of the differences in the index between subjects; all shares add up to 100 %",
        align: "right",
        className: "max-sm:hidden",
        value: (row) => row.share,
        show: (row) => shown(row.shown.share),
      },
      {
        id: "ceiling",
        title: "At the top",
        hint: "Share of its conversations that have all of the points: there it cannot tell anybody apart",
        align: "right",
        className: "max-sm:hidden",
        value: (row) => row.ceiling,
        show: (row) => shown(row.shown.ceiling),
      },
    ],
    [href],
  );
  if (address.page !== "scenarios") return null;
  const path = paths.board(board.board.id);
  return (
    <div className="mt-5 grid items-start gap-8 xl:grid-cols-[minmax(0,2.4fr)_minmax(0,1fr)]">
      <div className="min-w-0">
        <Sideways className="lg:overflow-visible">
          <Grid
            rows={board.scenarios}
            columns={columns}
            keyOf={(row) => row.id}
            caption="Scenarios"
            sort={address.sort}
            onSort={(sort) => {
              go({ page: "scenarios", sort }, {}, true);
            }}
          />
        </Sideways>
        <div className="mt-3">
          <Take
            files={[
              { title: "CSV", path: paths.scenarios(board.board.id) },
              { title: "JSON", path },
            ]}
            citation={board.citation}
          />
        </div>
      </div>
      <Field scenarios={board.scenarios} />
    </div>
  );
}

function Bar({ value, says }: { value: number | null; says: string | null }) {
  return (
    <span className="inline-flex items-baseline gap-2">
      <span className="hidden h-1.5 w-12 self-center overflow-hidden rounded bg-line sm:block" aria-hidden="true">
        <span className="block h-full bg-accent/70" style={{ width: `${String(value ?? 0)}%` }} />
      </span>
      <span className="w-8 text-right">{shown(says)}</span>
    </span>
  );
}
