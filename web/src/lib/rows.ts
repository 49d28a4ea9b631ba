import type { Interval, PageColumn, Row, Score, Uncertainty } from "../api/types";
import type { Cell } from "./lists";

/** What a row has in the columns that its class says it has, and its scores. */

/** A column's name in addresses. */
export const columnId = ({ path }: PageColumn) => path.join(".");

type Holder = Readonly<Record<string, unknown>>;

const inside = (value: unknown, name: string): unknown => (value as Holder | null)?.[name] ?? null;

/** What *row* has in a column, to sort by and as text; null where it has nothing. */
export function valueIn(row: Row, { path }: PageColumn): { value: Cell; text: string | null } {
  const holder = path.slice(0, -1).reduce<unknown>(inside, row);
  const name = path.at(-1) ?? "";
  const value = inside(holder, name);
  if (value !== null && typeof value === "object") {
    // a number with what is known of it: the number is the first one in it
    const number = Object.values(value).find((one) => typeof one === "number");
    return { value: number ?? null, text: inside(value, "shown") as string | null };
  }
  const shown = inside(inside(holder, "shown"), name) as string | null;
  return { value: value as Cell, text: shown ?? (value === null ? null : String(value)) };
}

/** Those of *columns* that one of *rows* has something in. */
export function known(columns: readonly PageColumn[], rows: readonly Row[]): PageColumn[] {
  return columns.filter((column) => rows.some((row) => valueIn(row, column).value !== null));
}

/** Whether one of the two intervals is missing. */
export const lacksInterval = ({ rerun, new_scenarios }: Uncertainty) => rerun === null || new_scenarios === null;

/** A row's index with its intervals; *why* is the board's word on those that are missing. */
export function indexOf({ index, index_interval: uncertainty, shown }: Row, why: string | null): Score {
  return { value: index, uncertainty, why: lacksInterval(uncertainty) ? why : null, shown: shown.index };
}

const UNKNOWN: Uncertainty = { rerun: null, new_scenarios: null };

/** A row's score in a dimension, of 100, with its intervals; *why* as above. */
export function dimensionOf(row: Row, name: string, why: string | null): Score {
  const share = own(row.dimensions, name);
  const { rerun, new_scenarios } = own(row.dimension_intervals, name) ?? UNKNOWN;
  const uncertainty = { rerun: ofHundred(rerun), new_scenarios: ofHundred(new_scenarios) };
  return {
    value: share === null ? null : 100 * share,
    uncertainty,
    why: lacksInterval(uncertainty) ? why : null,
    shown: own(row.shown.dimensions, name),
  };
}

/** What is called *name* in *values*, and not what every object has. */
function own<T>(values: Readonly<Record<string, T>>, name: string): T | null {
  return Object.hasOwn(values, name) ? (values[name] ?? null) : null;
}

function ofHundred(interval: Interval | null): Interval | null {
  return interval && { ...interval, low: 100 * interval.low, high: 100 * interval.high };
}
