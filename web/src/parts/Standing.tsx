import type { Choice } from "../addresses";
import type { Row, Standing as Told } from "../api/types";
import { span } from "./format";

/** A row's place among all for the kind of interval that was chosen; null where nothing is known. */
export function standingOf(row: Row, kind: Choice["interval"]): Told | null {
  if (kind === "like") return row.standing_another;
  const { rank_low, rank_high, tie_groups, tied_with_best } = row;
  if (rank_low === null || rank_high === null) return null;
  return { rank_low, rank_high, groups: tie_groups ?? "", tied_with_best };
}

/** "3", its 95 % interval, and its tie groups. */
export function Rank({ row, kind }: { row: Row; kind: Choice["interval"] }) {
  if (row.rank === null) return <span className="text-faint">–</span>;
  const standing = standingOf(row, kind);
  return (
    <span title={standing ? inWords(row.rank, standing) : "how sure this rank is, nobody can tell"}>
      {row.medal && kind === "again" ? (
        <span className="text-accent" title="this rank is certain">
          ★{" "}
        </span>
      ) : null}
      <span className={standing?.tied_with_best ? "font-semibold" : ""}>{row.rank}</span>
      {standing ? (
        <span className="ml-1.5 inline-block min-w-11 text-left text-sm text-faint max-sm:min-w-0">
          {span(standing.rank_low, standing.rank_high)}
          {standing.groups ? <sup className="ml-0.5 text-[0.7rem]">{shortened(standing.groups)}</sup> : null}
        </span>
      ) : null}
    </span>
  );
}

function inWords(rank: number, { rank_low, rank_high, groups, tied_with_best }: Told): string {
  return [
    `rank ${String(rank)}, in 95 of 100 cases within ${span(rank_low, rank_high)}`,
    groups ? `tie groups ${groups}: rows that share a letter cannot be told apart` : "",
    tied_with_best ? "nobody is better for certain" : "",
  ]
    .filter(Boolean)
    .join("; ");
}

function shortened(groups: string): string {
  return groups.length > 3 ? `${groups[0] ?? ""}–${groups[groups.length - 1] ?? ""}` : groups;
}
