import {
  createSortedRowModel,
  rowSortingFeature,
  tableFeatures,
  useTable,
  type ColumnDef,
} from "@tanstack/react-table";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useMemo, useRef, useState, type ReactNode } from "react";
import type { Interval } from "../api/types";
import { useOffsetTop } from "../hooks/scrolling";
import { orDash } from "../lib/format";
import { compareCells, present, type Cell } from "../lib/lists";
import type { Sort } from "../routes";
import { ScrollArea, Section, type SectionProps } from "./sections";

/** The heading of one column. */
export interface Heading {
  id: string;
  title: ReactNode;
  hint?: string | undefined; // what the column means, as a tooltip
  numeric?: boolean; // set to the right
  className?: string; // of the heading and of every cell
  sortable?: boolean;
  ascendingFirst?: boolean; // the first click sorts in rising order
  below?: ReactNode; // under the title, and no part of its button
}

export interface Column<T> extends Omit<Heading, "sortable"> {
  cell: (row: T, index: number) => ReactNode;
  sortValue?: (row: T) => Cell; // what the column is sorted by; without it, it cannot be
  rowHeader?: boolean; // its cells head their rows
  cellClass?: string | ((row: T) => string); // of the cells alone
  cellHint?: (row: T) => string | undefined; // a cell's tooltip
}

/** A column whose cells are what *cell* makes of their rows. */
export function column<T>(
  id: string,
  title: ReactNode,
  cell: Column<T>["cell"],
  more: Partial<Column<T>> = {},
): Column<T> {
  return { id, title, cell, ...more };
}

/** The same, set to the right. */
export function numberColumn<T>(...[id, title, cell, more]: Parameters<typeof column<T>>): Column<T> {
  return column(id, title, cell, { numeric: true, ...more });
}

/** The same, whose cells head their rows. */
export function headColumn<T>(...[id, title, cell, more]: Parameters<typeof column<T>>): Column<T> {
  return column(id, title, cell, { rowHeader: true, ...more });
}

/** A column of numbers: the text that the answer has for each under *shown*. */
export function shownColumn<T extends { readonly shown: object }>(
  id: keyof T["shown"] & string,
  title: ReactNode,
  more: Partial<Column<T>> = {},
): Column<T> {
  const text = (row: T) => (row.shown as Readonly<Record<string, string | null>>)[id];
  return { id, title, numeric: true, cell: (row) => orDash(text(row)), ...more };
}

/** A number with its interval below it. */
export function WithInterval({
  text,
  interval,
}: {
  text: string | null | undefined;
  interval: Interval | undefined | null;
}) {
  return (
    <>
      {orDash(text)}
      {interval ? <span className="block text-xs whitespace-nowrap text-soft">{interval.shown}</span> : null}
    </>
  );
}

interface TableProps<T> {
  rows: readonly T[];
  columns: readonly Column<T>[];
  rowKey: (row: T) => string;
  caption: string; // for screen readers
  sort?: Sort | null; // null: in the order given; without it, the table keeps its own
  onSort?: (sort: Sort | null) => void;
  rowClass?: (row: T) => string;
  className?: string;
  scroll?: string; // class of what it scrolls in
}

/** A part of a page that is one table. */
export function TableSection<T extends object>({
  title,
  label,
  description,
  ...table
}: Omit<SectionProps, "children"> & TableProps<T>) {
  return (
    <Section title={title} label={label} description={description}>
      <DataTable {...table} />
    </Section>
  );
}

const FEATURES = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel() });
const VIRTUAL_FROM = 150; // rows; of more, only those on screen are drawn
const ROW_HEIGHT = 36; // roughly, in pixels

/** A table that can be sorted, scrolls sideways by itself, and holds any number of rows. */
export function DataTable<T extends object>(props: TableProps<T>) {
  const { rows, columns, rowKey, caption, rowClass, className = "w-full", scroll } = props;
  const [ownSort, setOwnSort] = useState<Sort | null>(null);
  const asked = props.sort === undefined ? ownSort : props.sort;
  const onSort = props.onSort ?? setOwnSort;
  // an address may name any column: one that is not there sorts nothing
  const sort = columns.some((column) => column.id === asked?.by && column.sortValue) ? asked : null;
  const headings = columns.map((column) => ({ ...column, sortable: column.sortValue !== undefined }));
  const sortable = headings.some((heading) => heading.sortable);
  const definitions = useMemo(() => columns.map(columnDefinition), [columns]);
  const state = useMemo(() => ({ sorting: sort ? [{ id: sort.by, desc: sort.descending }] : [] }), [sort]);
  const table = useTable<typeof FEATURES, T>({
    features: FEATURES,
    data: rows,
    columns: definitions,
    state,
    getRowId: rowKey,
  });
  const sorted = table.getRowModel().rows;
  const { ref, visible, before, after, virtual } = useVisibleRows(sorted.length);
  return (
    <ScrollArea className={scroll}>
      <table ref={ref} className={`data ${className}`} aria-rowcount={virtual ? sorted.length + 1 : undefined}>
        <caption className="sr-only">{caption}</caption>
        <TableHead
          columns={headings}
          sort={sort}
          onSort={onSort}
          className={sortable ? "bg-paper md:sticky md:top-0 md:z-10" : ""}
        />
        <tbody>
          {before > 0 ? <Gap height={before} columns={columns.length} /> : null}
          {visible.map((index) => {
            const row = sorted[index];
            return row ? (
              <tr key={row.id} className={rowClass?.(row.original)} aria-rowindex={virtual ? index + 2 : undefined}>
                {columns.map((column) => (
                  <TableCell key={column.id} column={column} row={row.original} index={index} />
                ))}
              </tr>
            ) : null;
          })}
          {after > 0 ? <Gap height={after} columns={columns.length} /> : null}
        </tbody>
      </table>
    </ScrollArea>
  );
}

function TableCell<T>({ column, row, index }: { column: Column<T>; row: T; index: number }) {
  const own = typeof column.cellClass === "function" ? column.cellClass(row) : (column.cellClass ?? "");
  const className = `${column.numeric ? "num" : ""} ${column.className ?? ""} ${own}`;
  const title = column.cellHint?.(row);
  return column.rowHeader ? (
    <th scope="row" className={`font-normal ${className}`} title={title}>
      {column.cell(row, index)}
    </th>
  ) : (
    <td className={className} title={title}>
      {column.cell(row, index)}
    </td>
  );
}

function Gap({ height, columns }: { height: number; columns: number }) {
  return (
    <tr aria-hidden="true">
      <td colSpan={columns} style={{ height, padding: 0, border: 0 }} />
    </tr>
  );
}

interface HeadProps {
  columns: readonly Heading[];
  sort?: Sort | null; // null: in the order given
  onSort?: (sort: Sort | null) => void;
  className?: string;
}

/** The headings of every table: tooltips, and buttons where a column can be sorted by. */
export function TableHead({ columns, sort = null, onSort, className }: HeadProps) {
  return (
    <thead className={className}>
      <tr>
        {columns.map((column) => {
          const sorted = sort?.by === column.id ? (sort.descending ? "descending" : "ascending") : undefined;
          return (
            <th
              key={column.id}
              scope="col"
              title={column.hint}
              aria-sort={sorted}
              className={`${column.numeric ? "num" : ""} ${column.className ?? ""}`}
            >
              {onSort && column.sortable ? (
                <button
                  type="button"
                  className="text-inherit hover:text-accent"
                  onClick={() => onSort(nextSort(column, sort))}
                >
                  {column.title}
                  <span aria-hidden="true" className="inline-block w-3 text-accent">
                    {sorted ? (sorted === "descending" ? "↓" : "↑") : ""}
                  </span>
                </button>
              ) : (
                column.title
              )}
              {column.below}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

/** A column's first order, then the other one, then none. */
function nextSort({ id, ascendingFirst = false }: Heading, sort: Sort | null): Sort | null {
  if (sort?.by !== id) return { by: id, descending: !ascendingFirst };
  return sort.descending === ascendingFirst ? null : { by: id, descending: ascendingFirst };
}

function columnDefinition<T extends object>({ id, sortValue }: Column<T>): ColumnDef<typeof FEATURES, T> {
  return {
    id,
    accessorFn: (row) => present(sortValue?.(row)),
    sortUndefined: "last",
    sortFn: (row, other) => compareCells(row.getValue<Cell>(id), other.getValue<Cell>(id)),
  };
}

/** Which rows are drawn, and the height of those before and after them. */
function useVisibleRows(count: number) {
  const ref = useRef<HTMLTableElement>(null);
  const scrollMargin = useOffsetTop(ref);
  const virtual = !usePrinting() && count > VIRTUAL_FROM; // on paper everything is drawn
  const virtualizer = useWindowVirtualizer({
    count: virtual ? count : 0,
    estimateSize: () => ROW_HEIGHT,
    overscan: 20,
    scrollMargin,
  });
  const items = virtualizer.getVirtualItems();
  if (!virtual) return { ref, virtual, visible: Array.from({ length: count }, (_, row) => row), before: 0, after: 0 };
  const [first, last] = [items[0], items[items.length - 1]];
  return {
    ref,
    virtual,
    visible: items.map((item) => item.index),
    before: first ? first.start - scrollMargin : 0,
    after: last ? virtualizer.getTotalSize() - (last.end - scrollMargin) : 0,
  };
}

function usePrinting(): boolean {
  const [printing, setPrinting] = useState(false);
  useLayoutEffect(() => {
    const listening = new AbortController();
    const { signal } = listening;
    window.addEventListener("beforeprint", () => setPrinting(true), { signal });
    window.addEventListener("afterprint", () => setPrinting(false), { signal });
    return () => listening.abort();
  }, []);
  return printing;
}
