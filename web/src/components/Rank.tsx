import type { BoardRow, Standing } from "../api/types";
import { span } from "../lib/format";
import type { SharedParams } from "../routes";

type Kind = SharedParams["interval"];

/** A row's possible ranks and tie groups for the chosen kind of interval; null where they are not known. */
export function standingOf(row: BoardRow, kind: Kind): Standing | null {
  return kind === "like" ? row.standing_new_scenarios : row.standing;
}

/** "3", its possible ranks, and its tie groups. */
export function Rank({ row, kind }: { row: BoardRow; kind: Kind }) {
  if (row.rank === null) return <span className="text-faint">–</span>;
  const standing = standingOf(row, kind);
  return (
    <span title={standing ? description(row.rank, standing) : "its possible ranks are not known"}>
      <span className={standing?.tied_with_best ? "font-semibold" : ""}>{row.rank}</span>
      {standing ? (
        <span className="ml-1.5 inline-block min-w-16 text-left text-sm text-faint max-sm:ml-1 max-sm:min-w-0">
          {span(standing.rank_low, standing.rank_high)}
          {standing.groups ? (
            <sup className="ml-0.5 text-[0.7rem] leading-none max-sm:hidden">{shortened(standing.groups)}</sup>
          ) : null}
        </span>
      ) : null}
    </span>
  );
}

function description(rank: number, { rank_low, rank_high, groups, tied_with_best }: Standing): string {
  return [
    `rank ${String(rank)}, possible ranks ${span(rank_low, rank_high)}`,
    groups ? `tie groups ${groups}: rows that share a letter cannot be told apart` : "",
    tied_with_best ? "nobody is certainly better" : "",
  ]
    .filter(Boolean)
    .join("; ");
}

function shortened(groups: string): string {
  return groups.length > 3 ? `${groups[0] ?? ""}–${groups[groups.length - 1] ?? ""}` : groups;
}
