import { useCallback, useMemo, useRef, useState } from "react";
import { endpoints, useBoard } from "../../api/queries";
import type { Board } from "../../api/types";
import { RankingHead } from "../../components/BoardChooser";
import { CodeText } from "../../components/labels";
import { DataTable } from "../../components/tables";
import { csvAndJson, Downloads } from "../../components/downloads";
import { scaleAround } from "../../components/bars";
import { Button, SegmentedControl } from "../../components/fields";
import { Await, Empty } from "../../components/status";
import { useReached } from "../../hooks/scrolling";
import { usePage } from "../../hooks/usePage";
import { count, plural } from "../../lib/format";
import { lacksInterval } from "../../lib/rows";
import { route, type AddressOf } from "../../routes";
import { forestColumns, heatColumns, tableColumns } from "./columns";
import { Filters } from "./Filters";
import { EXTRAS, passes } from "./filters";
import { NotRanked } from "./NotRanked";
import { ReasonsMap } from "./ReasonsMap";
import { Scatter } from "./Scatter";
import { StemPictures } from "./StemPictures";

/** The ranking, its uncertainty, and what each number rests on. */
export function LeaderboardPage({ address }: { address: AddressOf<"leaderboard"> }) {
  const { board, index } = usePage();
  const { sort, find, only, most, view, picked } = address;
  const [asked, setAsked] = useState("");
  const ask = useCallback(() => setAsked(board.id), [board.id]);
  const first = useBoard(board.id, index.offer.frozen);
  const stems = first.data?.rows.some(({ branches }) => branches) ?? false;
  const chosen = sort !== null || find || only.length > 0 || most || view === "scatter" || picked.length > 0;
  const every = useBoard(board.id, index.offer.frozen, asked === board.id || Boolean(chosen) || stems);
  // what is looked for may stand in a row that is not there yet
  const ranking = every.data || every.error || find || only.length ? every : first;
  return (
    <>
      <RankingHead title="Leaderboard" dense>
        {ranking.data ? <span className="text-ink">{ranking.data.says} </span> : null}
        The Independence Index, 0 to 100, says how well a model keeps its own identity, judgment and preferences when a
        person presses it.<span className="max-sm:hidden"> Every number leads to its conversations.</span>
      </RankingHead>
      <Await query={ranking} what="the ranking">
        {(value) => <Ranking board={value} address={address} ask={ask} />}
      </Await>
    </>
  );
}

const FEWEST_POINTS = 3; // ranked models: with a single other model there is nothing to see in a plot

const COLUMNS = { table: tableColumns, forest: forestColumns, heat: heatColumns, scatter: () => [] };

interface RankingProps {
  board: Board; // with its first rows, until all are asked for
  address: AddressOf<"leaderboard">;
  ask: () => void;
}

function Ranking({ board, address, ask }: RankingProps) {
  const page = usePage();
  const { update } = page;
  const { find, only, most, picked, interval } = address;
  const scatters = board.ranked >= FEWEST_POINTS;
  const view = address.view === "scatter" && !scatters ? "forest" : address.view;
  const rows = useMemo(
    () => board.rows.filter((row) => passes(row, { find, only, picked, most, interval })),
    [board, find, only, picked, most, interval],
  );
  const ranked = useMemo(() => rows.filter((row) => row.index !== null), [rows]);
  const incomplete = useMemo(() => rows.filter((row) => row.index === null), [rows]);
  const scale = useMemo(() => scaleAround(board.reach ?? []), [board]);
  const end = useRef<HTMLDivElement>(null);
  useReached(end, ask);
  const left = board.parts > 0; // more rows, which nobody has asked for
  const unranked = left ? board.subjects - board.ranked : incomplete.length;
  const columns = useMemo(
    () => COLUMNS[view]({ board, page, scale, kind: interval, extras: only.includes(EXTRAS), view }),
    [board, page, scale, interval, view, only],
  );
  return (
    <section aria-label="Ranking" className="mt-2.5">
      <div className="no-print flex flex-wrap items-center gap-x-3 gap-y-2">
        <SegmentedControl
          label="View"
          plain
          value={view}
          options={[
            ["forest", "Forest plot"],
            ["table", "Table"],
            ["heat", "Scenarios"],
            ...(scatters ? ([["scatter", "Scatter"]] as const) : []),
          ]}
          onChange={(value) => update({ view: value })}
        />
        <div className="contents" onPointerEnter={ask} onFocus={ask}>
          <Filters board={board} address={address} />
        </div>
      </div>
      <div className="mt-1.5 flex flex-wrap items-baseline gap-x-6 sm:gap-y-1">
        <p role="status" className="text-sm text-soft">
          {plural(left ? board.ranked : ranked.length, "model")} ranked
          {unranked ? `, ${unranked} not ranked` : ""}
          {left || rows.length === board.subjects ? "" : ` (of ${board.subjects})`}
        </p>
        {view === "forest" ? <ForestLegend /> : null}
        <div className="sm:ml-auto">
          <Downloads files={csvAndJson(endpoints.board(board.board.id))} citation={board.citation} />
        </div>
      </div>
      {ranked.length && view === "scatter" ? (
        <Scatter rows={ranked} names={board.names} />
      ) : ranked.length ? (
        <DataTable
          rows={ranked}
          columns={columns}
          rowKey={(row) => row.subject.id}
          caption="Ranked models"
          sort={address.sort}
          onSort={(sort) => update({ sort })}
          rowClass={(row) => (picked.includes(row.subject.id) ? "bg-accent-wash/60" : "")}
          scroll="mt-1"
        />
      ) : (
        <Empty title={board.ranked ? "Nothing fits these filters." : "No model is ranked yet."}>
          {board.ranked
            ? "Remove one of them, or shorten the search."
            : "Play the whole protocol with `aib run`, and judge it with `aib judge`."}
        </Empty>
      )}
      <div ref={end} />
      {left ? <Button onClick={ask}>All {count(board.subjects)} models</Button> : null}
      <Notes board={board} address={address} />
      <ReasonsMap ranked={ranked} />
      <StemPictures board={board} ranked={ranked} picked={picked} />
      {incomplete.length ? <NotRanked board={board} rows={incomplete} /> : null}
      <Picked board={board} />
    </section>
  );
}

function ForestLegend() {
  return (
    <p className="flex flex-wrap gap-x-5 text-sm text-soft">
      <span>
        <span aria-hidden="true" className="mr-1.5 inline-block h-[7px] w-8 rounded bg-accent/40 align-middle" />
        95% CI (same scenarios)
      </span>
      <span>
        <span aria-hidden="true" className="mr-1.5 inline-block h-[3px] w-12 rounded bg-accent/55 align-middle" />
        95% CI (new scenarios)
      </span>
    </p>
  );
}

function Notes({ board, address }: { board: Board; address: AddressOf<"leaderboard"> }) {
  const lacking = board.rows.some((row) => lacksInterval(row.index_interval));
  return (
    <div className="mt-3 max-w-4xl space-y-1 text-sm text-soft">
      {board.rows.some((row) => row.ranks) ? (
        <p>
          Possible ranks are those that a model may have{" "}
          {address.interval === "like" ? "on another test like it" : "on this test"}, by comparison with every other
          one. They hold for each model by itself at 95%.
        </p>
      ) : null}
      {board.remarks.map((remark) => (
        <p key={remark}>
          <CodeText text={remark} />
        </p>
      ))}
      {lacking && board.why !== null ? (
        <p>
          Why intervals are missing: <CodeText text={board.why} />
        </p>
      ) : null}
    </div>
  );
}

/** The models that are picked, at the bottom of the window. */
function Picked({ board }: { board: Board }) {
  const { address, update, href } = usePage();
  const { picked } = address;
  if (!picked.length) return null;
  // a row that is not there yet may have it
  const nameOf = (id: string) => board.names[id] ?? (board.parts ? "…" : "not on this leaderboard");
  return (
    <aside
      aria-label="Picked for comparison"
      className="no-print panel sticky bottom-3 z-20 mt-6 flex flex-wrap items-center gap-2 p-3 shadow-lg"
    >
      <span className="text-soft">Picked:</span>
      {picked.map((id) => (
        <span key={id} className="chip gap-1">
          <bdi className="label">{nameOf(id)}</bdi>
          <button
            type="button"
            aria-label={`Take ${nameOf(id)} out`}
            onClick={() => update({ picked: picked.filter((one) => one !== id) })}
          >
            ×
          </button>
        </span>
      ))}
      <a className="button ml-auto" href={href(route("compare"))}>
        Compare
        {picked.length > 1 || board.subjects < 2
          ? ""
          : picked[0] === board.rows[0]?.subject.id
            ? " with the next"
            : " with the first"}
      </a>
    </aside>
  );
}
