import {
  createSortedRowModel,
  rowSortingFeature,
  tableFeatures,
  useTable,
  type ColumnDef,
  type Row,
} from "@tanstack/react-table";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useMemo, useRef, useState, type ReactNode } from "react";
import type { Sort } from "../addresses";
import { useTop } from "./useTop";
import { compareCells, present, type Cell } from "./sorting";

export interface Column<T> {
  id: string;
  title: ReactNode;
  hint?: string; // what the column means, for a pointer that rests on it
  value: (row: T) => Cell; // what is sorted by; null is last either way
  show: (row: T, place: number) => ReactNode;
  align?: "right" | "left";
  up?: boolean; // the first click sorts lowest first
  fixed?: boolean; // cannot be sorted by
  head?: boolean; // its cells head their rows
  className?: string;
  cell?: string; // classes of its cells alone
}

interface Props<T> {
  rows: readonly T[];
  columns: readonly Column<T>[];
  keyOf: (row: T) => string;
  caption: string; // for screen readers
  sort: Sort | null; // null: in the order given
  onSort?: (sort: Sort | null) => void;
  rowClass?: (row: T) => string;
  height?: number; // of a row, roughly, in pixels
  className?: string;
  sticky?: boolean;
}

const FEATURES = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel() });
type Features = typeof FEATURES;

const MANY = 150; // rows; more are drawn only where they are seen

/** A table that can be sorted and holds any number of rows. */
export function Grid<T extends object>(props: Props<T>) {
  const { rows, columns, onSort, keyOf, caption, rowClass, height = 36, className = "", sticky = true } = props;
  // an address may name any column: one that is not there sorts nothing
  const known = columns.some((column) => column.id === props.sort?.by && !column.fixed);
  const sort = known ? props.sort : null;
  const defs = useMemo(() => columns.map(define), [columns]);
  const state = useMemo(() => ({ sorting: sort ? [{ id: sort.by, desc: sort.down }] : [] }), [sort]);
  const table = useTable<Features, T>({ features: FEATURES, data: rows, columns: defs, state, getRowId: keyOf });
  const sorted = table.getRowModel().rows;
  const { at, items, before, after, virtual } = useSeen(sorted.length, height);

  function sortBy(column: Column<T>) {
    if (!onSort) return;
    const first = { by: column.id, down: !column.up };
    if (sort?.by !== column.id) onSort(first);
    else if (sort.down === first.down) onSort({ by: column.id, down: !first.down });
    else onSort(null);
  }

  return (
    <table ref={at} className={`data w-full ${className}`} aria-rowcount={virtual ? sorted.length + 1 : undefined}>
      <caption className="sr-only">{caption}</caption>
      <thead className={sticky ? "bg-paper md:sticky md:top-0 md:z-10" : ""}>
        <tr>
          {columns.map((column) => (
            <th
              key={column.id}
              scope="col"
              title={column.hint}
              aria-sort={sort?.by === column.id ? (sort.down ? "descending" : "ascending") : undefined}
              className={`${column.align === "right" ? "num" : ""} ${column.className ?? ""}`}
            >
              {onSort && !column.fixed ? (
                <button
                  type="button"
                  className="text-inherit hover:text-accent"
                  onClick={() => {
                    sortBy(column);
                  }}
                >
                  {column.title}
                  <span aria-hidden="true" className="inline-block w-3 text-accent">
                    {sort?.by === column.id ? (sort.down ? "↓" : "↑") : ""}
                  </span>
                </button>
              ) : (
                column.title
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {before > 0 ? <Gap height={before} across={columns.length} /> : null}
        {items.map((place) => {
          const row = sorted[place];
          return row ? (
            <Line
              key={row.id}
              row={row}
              place={place}
              columns={columns}
              virtual={virtual}
              className={rowClass?.(row.original)}
            />
          ) : null;
        })}
        {after > 0 ? <Gap height={after} across={columns.length} /> : null}
      </tbody>
    </table>
  );
}

interface LineProps<T extends object> {
  row: Row<Features, T>;
  place: number;
  columns: readonly Column<T>[];
  virtual: boolean;
  className?: string | undefined;
}

function Line<T extends object>({ row, place, columns, virtual, className }: LineProps<T>) {
  return (
    <tr className={className} aria-rowindex={virtual ? place + 2 : undefined}>
      {columns.map((column) => {
        const looks = `${column.align === "right" ? "num" : ""} ${column.className ?? ""} ${column.cell ?? ""}`;
        const shown = column.show(row.original, place);
        return column.head ? (
          <th key={column.id} scope="row" className={`font-normal ${looks}`}>
            {shown}
          </th>
        ) : (
          <td key={column.id} className={looks}>
            {shown}
          </td>
        );
      })}
    </tr>
  );
}

function Gap({ height, across }: { height: number; across: number }) {
  return (
    <tr aria-hidden="true">
      <td colSpan={across} style={{ height, padding: 0, border: 0 }} />
    </tr>
  );
}

function define<T extends object>(column: Column<T>): ColumnDef<Features, T> {
  return {
    id: column.id,
    accessorFn: (row) => present(column.value(row)),
    enableSorting: !column.fixed,
    sortUndefined: "last",
    sortFn: (one, other, id) => compareCells(one.getValue<Cell>(id), other.getValue<Cell>(id), false),
  };
}

/** Which rows are to be drawn, and how much room the others take. */
function useSeen(count: number, height: number) {
  const at = useRef<HTMLTableElement>(null);
  const margin = useTop(at);
  const printing = usePrinting();
  const virtual = count > MANY && !printing;
  const seen = useWindowVirtualizer({
    count: virtual ? count : 0,
    estimateSize: () => height,
    overscan: 20,
    scrollMargin: margin,
  });
  const drawn = seen.getVirtualItems();
  if (!virtual) return { at, virtual, items: Array.from({ length: count }, (_, place) => place), before: 0, after: 0 };
  const [first, last] = [drawn[0], drawn[drawn.length - 1]];
  return {
    at,
    virtual,
    items: drawn.map((item) => item.index),
    before: first ? first.start - margin : 0,
    after: last ? seen.getTotalSize() - (last.end - margin) : 0,
  };
}

/** On paper everything is drawn: nobody scrolls there. */
function usePrinting(): boolean {
  const [printing, setPrinting] = useState(false);
  useLayoutEffect(() => {
    const on = () => {
      setPrinting(true);
    };
    const off = () => {
      setPrinting(false);
    };
    window.addEventListener("beforeprint", on);
    window.addEventListener("afterprint", off);
    return () => {
      window.removeEventListener("beforeprint", on);
      window.removeEventListener("afterprint", off);
    };
  }, []);
  return printing;
}
