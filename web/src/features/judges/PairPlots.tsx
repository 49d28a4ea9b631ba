import type { PairPlot } from "../../api/types";
import { DataTable, type Column } from "../../components/tables";
import { Disclosure, Section } from "../../components/sections";
import { PlotGrid } from "../../components/PlotGrid";
import { usePage } from "../../hooks/usePage";
import { count } from "../../lib/format";
import { route } from "../../routes";
import type { PanelProps } from "./tables";

const [LEFT, TOP, SIDE] = [38, 10, 240];
const TICKS = [0, 25, 50, 75, 100];
const [LEAST, MOST] = [2.2, 11]; // radius of a point, in pixels
const FULL = 60; // conversations of the largest point

/** Two judges against each other: a point a conversation. */
export function PairPlots({ panel, ids, letterOf }: PanelProps) {
  if (!ids.plots.length) return null;
  const left = panel.pairs.length - ids.plots.length;
  return (
    <Section
      title="Judge against judge"
      description={`A point a conversation (of stems: a stem; the same words in two runs count twice), by the score that each of the two gives it; a larger point is several. On the line they agree, below it the judge named first is the more lenient one. A click opens a conversation.${left ? ` Not drawn: ${count(left)} more pairs.` : ""}`}
    >
      <div className="grid gap-3 sm:grid-cols-2 xl:grid-cols-3">
        {ids.plots.map((plot) => (
          <Plot key={`${plot.one} ${plot.other}`} plot={plot} one={letterOf(plot.one)} other={letterOf(plot.other)} />
        ))}
      </div>
    </Section>
  );
}

function Plot({ plot, one, other }: { plot: PairPlot; one: string; other: string }) {
  const { navigate } = usePage();
  const across = (score: number) => LEFT + (SIDE * score) / 100;
  const up = (score: number) => TOP + SIDE - (SIDE * score) / 100;
  const alike = plot.conversations - plot.one_higher - plot.other_higher;
  const words = [
    `${one} scores ${count(plot.one_higher)} higher`,
    `${other} ${count(plot.other_higher)}`,
    `alike ${count(alike)}`,
  ].join(", ");
  return (
    <figure className="panel min-w-0 p-3">
      <figcaption>
        <span className="font-semibold">
          {one} and {other}
        </span>{" "}
        <span className="text-sm text-soft">
          {words} of {count(plot.conversations)} conversations
        </span>
      </figcaption>
      <svg
        viewBox={`0 0 ${LEFT + SIDE + 14} ${TOP + SIDE + 36}`}
        className="mx-auto mt-1 h-auto w-full max-w-[24rem]"
        role="img"
        aria-label={`${one} against ${other}: ${words}. The conversations that are furthest apart are listed below.`}
      >
        <PlotGrid
          x={{ ticks: TICKS, at: across, title: `score by ${one}` }}
          y={{ ticks: TICKS, at: up, title: `score by ${other}` }}
        />
        <path d={`M${LEFT} ${TOP + SIDE}L${LEFT + SIDE} ${TOP}`} className="stroke-edge" strokeDasharray="4 3" />
        {plot.points.map((point) => (
          <circle
            key={`${point.one} ${point.other}`}
            cx={across(point.one)}
            cy={up(point.other)}
            r={Math.min(MOST, LEAST + ((MOST - LEAST) * Math.sqrt(point.count - 1)) / Math.sqrt(FULL))}
            className="cursor-pointer fill-accent/50 stroke-raised hover:fill-accent"
            strokeWidth="0.5"
            onClick={() => navigate(route("transcript", { transcript: point.transcript }))}
          >
            <title>{`${one} ${point.one}, ${other} ${point.other}: ${count(point.count)}`}</title>
          </circle>
        ))}
      </svg>
      <Disclosure title="As a table" className="mt-1 text-sm">
        <PointsTable plot={plot} one={one} other={other} />
      </Disclosure>
    </figure>
  );
}

function PointsTable({ plot, one, other }: { plot: PairPlot; one: string; other: string }) {
  const { href } = usePage();
  const columns: Column<PairPlot["points"][number]>[] = [
    { id: "one", title: one, numeric: true, sortValue: (row) => row.one, cell: (row) => row.one },
    { id: "other", title: other, numeric: true, sortValue: (row) => row.other, cell: (row) => row.other },
    {
      id: "count",
      title: "Conversations",
      numeric: true,
      sortValue: (row) => row.count,
      cell: (row) => count(row.count),
    },
    {
      id: "open",
      title: <span className="sr-only">One of them</span>,
      cell: (row) => (
        <a
          href={href(route("transcript", { transcript: row.transcript }))}
          aria-label={`Open one with ${row.one} and ${row.other}`}
        >
          open
        </a>
      ),
    },
  ];
  return (
    <DataTable
      rows={plot.points}
      columns={columns}
      rowKey={(row) => `${row.one} ${row.other}`}
      caption={`Scores by ${one} and ${other}`}
    />
  );
}
