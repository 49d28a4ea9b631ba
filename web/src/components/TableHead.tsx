import type { ReactNode } from "react";
import type { Sort } from "../routes";

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

interface Props {
  columns: readonly Heading[];
  sort?: Sort | null; // null: in the order given
  onSort?: (sort: Sort | null) => void;
  className?: string;
}

/** The headings of every table: tooltips, and buttons where a column can be sorted by. */
export function TableHead({ columns, sort = null, onSort, className }: Props) {
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
