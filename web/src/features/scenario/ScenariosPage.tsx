import { endpoints, useBoard } from "../../api/queries";
import type { Board, ScenarioFacts } from "../../api/types";
import { RankingHead } from "../../components/BoardChooser";
import { PlotGrid } from "../../components/PlotGrid";
import { DataTable, shownColumn, column, type Column } from "../../components/tables";
import { Downloads } from "../../components/downloads";
import { Await } from "../../components/status";
import { usePage, type PageContextValue } from "../../hooks/usePage";
import { orDash } from "../../lib/format";
import { route, type AddressOf } from "../../routes";

/** All scenarios of a board: how hard each one is, and how well it tells subjects apart. */
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
        Each one is a scripted conversation. Open one to read what every subject said in it, best first.
      </RankingHead>
      <Await query={ranking} what="the scenarios">
        {(value) => (
          <div className="mt-5 grid items-start gap-8 xl:grid-cols-[minmax(0,2.4fr)_minmax(0,1fr)]">
            <div className="min-w-0">
              <DataTable
                rows={value.scenarios}
                columns={columnsOf(href, value)}
                rowKey={(row) => row.id}
                caption="Scenarios"
                sort={address.sort}
                onSort={(sort) => update({ sort })}
                scroll="lg:overflow-visible"
              />
              <p className="mt-2 max-w-3xl text-sm text-soft">
                Points: of the index's 100. Difficulty: the per cent of its points that subjects lose. Discrimination:
                the correlation over subjects of its score with the points of all other scenarios, with its 95% CI.
                Share: its part of the differences in the index between subjects. At the top: conversations with all of
                the points.
              </p>
              <div className="mt-3">
                <Downloads files={files(value)} citation={value.citation} />
              </div>
            </div>
            <DifficultyPlot scenarios={value.scenarios} />
          </div>
        )}
      </Await>
    </>
  );
}

function columnsOf(href: PageContextValue["href"], board: Board): Column<ScenarioFacts>[] {
  const titles = new Map(board.dimensions.map(({ name, title }) => [name, title]));
  const inWords = (verdict: string) =>
    verdict.replace(/: (\w+)$/, (_, name: string) => `: ${titles.get(name) ?? name}`);
  return [
    {
      id: "title",
      title: "Scenario",
      rowHeader: true,
      ascendingFirst: true,
      sortValue: (row) => row.title,
      cell: (row) => (
        <>
          <a href={href(route("scenario", { scenario: row.id }))} className="font-medium">
            {row.title}
          </a>
          {row.verdicts.map((verdict) => (
            <span key={verdict} className="block text-sm text-warn">
              {inWords(verdict)}
            </span>
          ))}
        </>
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
      hint: "Share of its points that subjects lose, in per cent",
      numeric: true,
      sortValue: (row) => row.difficulty,
      cell: (row) => <DifficultyBar value={row.difficulty} text={row.shown.difficulty} />,
    },
    {
      id: "discrimination",
      title: "Discrimination",
      hint: "Correlation, over subjects, of its score with the points in all other scenarios: -1 to 1",
      numeric: true,
      sortValue: (row) => row.discrimination,
      cell: (row) => (
        <>
          {orDash(row.shown.discrimination)}
          {row.discrimination_interval ? (
            <span className="eyebrow ml-1.5 max-sm:hidden">{row.discrimination_interval.shown}</span>
          ) : null}
        </>
      ),
    },
    shownColumn("share", "Share", {
      hint: "Its share of the differences in the index between subjects; all shares add up to 100%",
      className: "max-sm:hidden",
      sortValue: (row) => row.share,
    }),
    shownColumn("ceiling", "At the top", {
      hint: "Share of its conversations that have all of the points: there it cannot tell anybody apart",
      className: "max-sm:hidden",
      sortValue: (row) => row.ceiling,
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

const [WIDE, HIGH, EDGE] = [400, 300, 46];

/** Difficulty against discrimination of each scenario. */
function DifficultyPlot({ scenarios }: { scenarios: readonly ScenarioFacts[] }) {
  const { href } = usePage();
  const plotted = scenarios.filter((scenario) => scenario.difficulty !== null && scenario.discrimination !== null);
  if (plotted.length < 2) return null;
  const lowest = Math.min(0, ...plotted.map((scenario) => Math.floor(10 * (scenario.discrimination ?? 0)) / 10));
  const x = (difficulty: number) => EDGE + ((WIDE - EDGE - 10) * difficulty) / 100;
  const y = (discrimination: number) => HIGH - EDGE - ((HIGH - EDGE - 12) * (discrimination - lowest)) / (1 - lowest);
  return (
    <figure className="panel p-3">
      <svg
        viewBox={`0 0 ${WIDE} ${HIGH}`}
        className="h-auto w-full"
        role="group"
        aria-label="Scenarios by difficulty and discrimination"
      >
        <PlotGrid
          x={{ ticks: [0, 25, 50, 75, 100], at: x, title: "difficulty: harder to the right" }}
          y={{ ticks: [lowest, 0, 0.5, 1].slice(lowest < 0 ? 0 : 1), at: y, title: "discrimination" }}
        />
        {plotted.map((one) => (
          <a
            key={one.id}
            href={href(route("scenario", { scenario: one.id }))}
            aria-label={`${one.title}: difficulty ${orDash(one.shown.difficulty)}, discrimination ${orDash(one.shown.discrimination)}`}
          >
            <circle
              cx={x(one.difficulty ?? 0)}
              cy={y(one.discrimination ?? 0)}
              r={6}
              className="fill-accent/75 stroke-raised hover:fill-accent"
            />
            <title>{`${one.title}: difficulty ${orDash(one.shown.difficulty)}, discrimination ${orDash(one.shown.discrimination)}`}</title>
          </a>
        ))}
      </svg>
      <figcaption className="text-sm text-soft">
        Height: discrimination, how well a scenario tells subjects apart. At the top right: hard, and telling them apart
        well.
      </figcaption>
    </figure>
  );
}
