import { useMemo, useState, type ReactNode } from "react";
import { endpoints, useApi } from "../../api/queries";
import type { JudgedConversation, Judges, JudgePanel, Validation, PairPlot } from "../../api/types";
import { RankingHead } from "../../components/BoardChooser";
import { csvAndJson, Downloads } from "../../components/downloads";
import { Section, Disclosure } from "../../components/sections";
import { Button, SelectField } from "../../components/fields";
import { Await, Empty } from "../../components/status";
import { usePage } from "../../hooks/usePage";
import { count, humanize, letterName } from "../../lib/format";
import { route, type AddressOf } from "../../routes";
import {
  AgreementTables,
  JudgesTable,
  SelfPreferenceTable,
  VendorTable,
  SubjectsTable,
  type PanelProps,
} from "./tables";
import { Label } from "../../components/labels";
import { DataTable, numberColumn, column, type Column } from "../../components/tables";
import { PlotGrid } from "../../components/PlotGrid";

/** How far the judges agree, whom they favour, and where they disagree. */
export default function JudgesPage({ address }: { address: AddressOf<"judges"> }) {
  const { board, href } = usePage();
  const judges = useApi(endpoints.judges(board.protocol));
  return (
    <>
      <RankingHead title="Judges">
        Every number depends on the judge that gave the marks. This page shows how far the judges of the same
        conversations agree; <a href={href(route("exam"))}>the exam</a> shows how well each of them marks conversations
        whose correct marks are known.
      </RankingHead>
      <Await query={judges} what="the judges; the first time this may take some seconds">
        {(value) => <Panels judges={value} address={address} />}
      </Await>
    </>
  );
}

function Panels({ judges, address }: { judges: Judges; address: AddressOf<"judges"> }) {
  const { update, board } = usePage();
  const named = judges.panels.map((panel) => ({ name: panel.found.configurations.join(" + "), panel }));
  const own = board.configurations.join(" + ");
  const shown =
    named.find((panel) => panel.name === address.view) ?? named.find((panel) => panel.name === own) ?? named[0];
  if (!shown) return <Empty title="Nothing has been judged yet.">`aib judge` has a judge mark what was played.</Empty>;
  return (
    <div className="mt-4">
      <div className="flex flex-wrap items-end justify-between gap-4">
        {named.length > 1 ? (
          <SelectField
            label="Judged in"
            value={shown.name}
            options={named.map(({ name }) => ({ value: name, title: humanize(name) }))}
            onChange={(view) => update({ view })}
          />
        ) : (
          <p className="text-soft">Judged in {humanize(shown.name)}</p>
        )}
        <Downloads files={csvAndJson(endpoints.judges(judges.protocol.id))} />
      </div>
      <PanelDetails key={shown.name} panel={shown.panel.found} ids={shown.panel} />
    </div>
  );
}

function PanelDetails({ panel, ids }: { panel: Validation; ids: JudgePanel }) {
  const letters = useMemo(() => new Map(panel.judges.map((judge, index) => [judge.label, letterName(index)])), [panel]);
  const props: PanelProps = { panel, ids, letterOf: (label) => letters.get(label) ?? "?" };
  return (
    <>
      <JudgesTable {...props} />
      {panel.judges.length < 2 ? (
        <Empty title="There is only one judge.">
          <code>aib judge -j ANOTHER</code> has another one mark the same conversations; the marks of both are kept.
        </Empty>
      ) : (
        <>
          <PairPlots {...props} />
          <AgreementTables {...props} />
          <SubjectsTable {...props} />
          <SelfPreferenceTable {...props} />
          <VendorTable {...props} />
          <Disputes {...props} />
        </>
      )}
      {panel.flagged.length ? <FlaggedVerdicts {...props} /> : null}
    </>
  );
}

function Disputes({ panel, ids, letterOf }: PanelProps) {
  const letter = (judge: number) => letterOf(panel.judges[judge]?.label ?? "");
  const values = (all: readonly (string | null)[]) =>
    all.flatMap((value, judge) => (value === null ? [] : [`${letter(judge)} ${value}`])).join(" ");
  return (
    <Section
      title="Where they disagree most"
      description={`${count(ids.disputed)} conversations are not marked alike; by the mean distance of their marks.`}
    >
      <ShortList items={panel.disputes} columns="md:grid-cols-[minmax(0,1fr)_minmax(0,1.2fr)_4rem]">
        {(dispute, index) => (
          <>
            <ConversationLink place={dispute.place} transcript={ids.disputes[index]} />
            <span className="text-sm text-soft">
              {dispute.marks
                .map(([mark, given], place) => {
                  const shown = dispute.shown.marks[place]?.[1] ?? [];
                  const levels = panel.marks.find((about) => about.mark.name === mark)?.mark.levels ?? [];
                  const named = given.map((value, judge) => levels[value ?? -1] ?? shown[judge] ?? null);
                  return `${humanize(mark)}: ${values(named)}`;
                })
                .join(" · ")}
            </span>
            <span className="num" title="mean over marks of the highest minus the lowest, as a share of the scale">
              {dispute.shown.spread}
            </span>
          </>
        )}
      </ShortList>
    </Section>
  );
}

function FlaggedVerdicts({ panel, ids, letterOf }: PanelProps) {
  return (
    <Section
      title="Verdicts to read"
      description={`${count(ids.flagged_in_all)} in all. A flag changes no mark: the reasoning seems to contradict it, or it is far from the embedded judge's.`}
    >
      <ShortList items={panel.flagged} columns="md:grid-cols-[minmax(0,1fr)_2rem_minmax(0,1.2fr)]">
        {(verdict, index) => (
          <>
            <ConversationLink place={verdict.place} transcript={ids.flagged[index]} />
            <span title={verdict.judge} className="font-semibold text-accent">
              {letterOf(verdict.judge)}
            </span>
            <span className="text-sm text-warn">{verdict.flags.map((flag) => flag.why).join("; ")}</span>
          </>
        )}
      </ShortList>
    </Section>
  );
}

const FEW = 10;

interface ShortListProps<T> {
  items: readonly T[];
  columns: string; // classes
  children: (item: T, index: number) => ReactNode;
}

/** The first items, and a button that shows all of them. */
function ShortList<T>({ items, columns, children }: ShortListProps<T>) {
  const [all, setAll] = useState(false);
  return (
    <>
      <ul className="border-t border-line">
        {(all ? items : items.slice(0, FEW)).map((item, index) => (
          <li key={index} className={`grid gap-x-4 border-b border-line py-1.5 ${columns}`}>
            {children(item, index)}
          </li>
        ))}
      </ul>
      {!all && items.length > FEW ? (
        <Button className="mt-2" onClick={() => setAll(true)}>
          Show {items.length}
        </Button>
      ) : null}
    </>
  );
}

function ConversationLink({ place, transcript }: { place: JudgedConversation; transcript: string | null | undefined }) {
  const { href } = usePage();
  const name = (
    <>
      <Label text={place.subject} />
      <span className="eyebrow">
        {" "}
        {place.scenario}, run {place.run}
      </span>
    </>
  );
  if (!transcript) return <span>{name}</span>;
  return <a href={href(route("transcript", { transcript }))}>{name}</a>;
}

const [LEFT, TOP, SIDE] = [38, 10, 240];
const TICKS = [0, 25, 50, 75, 100];
const [LEAST, MOST] = [2.2, 11]; // radius of a point, in pixels
const FULL = 60; // conversations of the largest point

/** Two judges against each other: a point a conversation. */
function PairPlots({ panel, ids, letterOf }: PanelProps) {
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
    numberColumn("one", one, (row) => row.one, { sortValue: (row) => row.one }),
    numberColumn("other", other, (row) => row.other, { sortValue: (row) => row.other }),
    numberColumn("count", "Conversations", (row) => count(row.count), { sortValue: (row) => row.count }),
    column("open", <span className="sr-only">One of them</span>, (row) => (
      <a
        href={href(route("transcript", { transcript: row.transcript }))}
        aria-label={`Open one with ${row.one} and ${row.other}`}
      >
        open
      </a>
    )),
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
