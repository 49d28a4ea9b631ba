import { createSortedRowModel, rowSortingFeature, tableFeatures, useTable } from "@tanstack/react-table";
import type { ColumnDef } from "@tanstack/react-table";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useMemo, useRef, useState, type ReactNode } from "react";
import { useOffsetTop } from "../hooks/useOffsetTop";
import { compareCells, present, type Cell } from "../lib/sorting";
import type { Sort } from "../routes";
import { TableHead, type Heading } from "./TableHead";

export interface Column<T> extends Omit<Heading, "sortable"> {
  cell: (row: T, index: number) => ReactNode;
  sortValue?: (row: T) => Cell; // what the column is sorted by; without it, it cannot be
  rowHeader?: boolean; // its cells head their rows
  cellClass?: string | ((row: T) => string); // of the cells alone
  cellHint?: (row: T) => string | undefined; // a cell's tooltip
}

interface Props<T> {
  rows: readonly T[];
  columns: readonly Column<T>[];
  rowKey: (row: T) => string;
  caption: string; // for screen readers
  sort?: Sort | null; // null: in the order given; without it, the table keeps its own
  onSort?: (sort: Sort | null) => void;
  rowClass?: (row: T) => string;
  rowHeight?: number; // roughly, in pixels
  className?: string;
}

const FEATURES = tableFeatures({ rowSortingFeature, sortedRowModel: createSortedRowModel() });
const VIRTUAL_FROM = 150; // rows; of more, only those on screen are drawn

/** A table that can be sorted and holds any number of rows. */
export function DataTable<T extends object>(props: Props<T>) {
  const { rows, columns, rowKey, caption, rowClass, rowHeight = 36, className = "w-full" } = props;
  const [ownSort, setOwnSort] = useState<Sort | null>(null);
  const asked = props.sort === undefined ? ownSort : props.sort;
  const onSort = props.onSort ?? setOwnSort;
  // an address may name any column: one that is not there sorts nothing
  const sort = columns.some((column) => column.id === asked?.by && column.sortValue) ? asked : null;
  const headings = columns.map((column) => ({ ...column, sortable: column.sortValue !== undefined }));
  const sortable = headings.some((one) => one.sortable);
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
  const { ref, visible, before, after, virtual } = useVisibleRows(sorted.length, rowHeight);
  return (
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

function columnDefinition<T extends object>({ id, sortValue }: Column<T>): ColumnDef<typeof FEATURES, T> {
  return {
    id,
    accessorFn: (row) => present(sortValue?.(row)),
    sortUndefined: "last",
    sortFn: (one, other) => compareCells(one.getValue<Cell>(id), other.getValue<Cell>(id)),
  };
}

/** Which rows are drawn, and the height of those before and after them. */
function useVisibleRows(count: number, rowHeight: number) {
  const ref = useRef<HTMLTableElement>(null);
  const scrollMargin = useOffsetTop(ref);
  const virtual = !usePrinting() && count > VIRTUAL_FROM; // on paper everything is drawn
  const virtualizer = useWindowVirtualizer({
    count: virtual ? count : 0,
    estimateSize: () => rowHeight,
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
