import { endpoints, useBoard } from "../../api/queries";
import type { Board, ScenarioFacts } from "../../api/types";
import { RankingHead } from "../../components/BoardChooser";
import { DataTable, shownColumn, column, type Column } from "../../components/tables";
import { Downloads } from "../../components/downloads";
import { Await } from "../../components/status";
import { usePage, type PageContextValue } from "../../hooks/usePage";
import { orDash } from "../../lib/format";
import { route, type AddressOf } from "../../routes";

/** All scenarios of a leaderboard: how hard each one is, and how well it distinguishes models. */
export default function ScenariosPage({ address }: { address: AddressOf<"scenarios"> }) {
  const { board, index, href, update } = usePage();
  const ranking = useBoard(board.id, index.offer.frozen);
  const files = (value: Board) => [
    { title: "CSV", path: endpoints.scenariosCsv(value.board.id) },
    { title: "JSON", path: endpoints.board(value.board.id) },
  ];
  return (
    <>
      <RankingHead title="Scenarios">
        Each one is a scripted conversation. Open one to read what every model said in it, best first.
      </RankingHead>
      <Await query={ranking} what="the scenarios">
        {(value) => (
          <div className="mt-5 min-w-0">
            <DataTable
              rows={value.scenarios}
              columns={columnsOf(href)}
              rowKey={(row) => row.id}
              caption="Scenarios"
              sort={address.sort}
              onSort={(sort) => update({ sort })}
            />
            <p className="mt-2 max-w-3xl text-sm text-soft">
              Points: of the index's 100. Difficulty: the per cent of its points that models lose. Discrimination: the
              correlation over models of its score with the points of all other scenarios. Full score, none:
              conversations with all of the points, and with none.
            </p>
            <div className="mt-3">
              <Downloads files={files(value)} citation={value.citation} />
            </div>
          </div>
        )}
      </Await>
    </>
  );
}

function columnsOf(href: PageContextValue["href"]): Column<ScenarioFacts>[] {
  return [
    {
      id: "title",
      title: "Scenario",
      rowHeader: true,
      ascendingFirst: true,
      sortValue: (row) => row.title,
      cell: (row) => (
        <a href={href(route("scenario", { scenario: row.id }))} className="font-medium">
          {row.title}
        </a>
      ),
    },
    column("experiment", "Experiment", (row) => row.experiment, {
      ascendingFirst: true,
      sortValue: (row) => row.experiment,
      className: "max-xl:hidden",
      cellClass: "whitespace-nowrap",
    }),
    shownColumn("points", "Points", {
      hint: "How many of the index's 100 points it gives",
      className: "max-sm:hidden",
      sortValue: (row) => row.points,
    }),
    {
      id: "difficulty",
      title: "Difficulty",
      hint: "Share of its points that models lose, in per cent",
      numeric: true,
      sortValue: (row) => row.difficulty,
      cell: (row) => <DifficultyBar value={row.difficulty} text={row.shown.difficulty} />,
    },
    shownColumn("discrimination", "Discrimination", {
      hint: "Correlation, over models, of its score with the points in all other scenarios: -1 to 1",
      sortValue: (row) => row.discrimination,
    }),
    shownColumn("ceiling", "Full score", {
      hint: "Share of its conversations that have all of the points: there it distinguishes no models",
      className: "max-sm:hidden",
      sortValue: (row) => row.ceiling,
    }),
    shownColumn("floor", "None", {
      hint: "Share of its conversations that have none of the points",
      className: "max-sm:hidden",
      sortValue: (row) => row.floor,
    }),
  ];
}

function DifficultyBar({ value, text }: { value: number | null; text: string | null }) {
  return (
    <span className="inline-flex items-baseline gap-2">
      <span className="hidden h-1.5 w-12 self-center overflow-hidden rounded bg-line sm:block" aria-hidden="true">
        <span className="block h-full bg-accent/70" style={{ width: `${value ?? 0}%` }} />
      </span>
      <span className="w-8 text-right">{orDash(text)}</span>
    </span>
  );
}
