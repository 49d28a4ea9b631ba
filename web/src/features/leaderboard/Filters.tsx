import { useMemo, useState } from "react";
import type { Board } from "../../api/types";
import { SelectField } from "../../components/SelectField";
import { usePage } from "../../hooks/usePage";
import { sort, type AddressOf } from "../../routes";
import { EXTRAS, FILTERS, toggled, VENDOR, vendors } from "./filters";

const FLAGS = ["best", "pinned", "picked"] as const;

/** Search and filters, and on a phone the order too (its table shows no headings of most columns). */
export function Filters({ board, address }: { board: Board; address: AddressOf<"leaderboard"> }) {
  const { update } = usePage();
  const { only } = address;
  const [open, setOpen] = useState(false);
  const names = useMemo(() => vendors(board.rows), [board]);
  const set = (filter: string, on: boolean) => update({ only: toggled(only, filter, on) });
  const vendor = only.find((one) => one.startsWith(VENDOR)) ?? "";
  const reasoning = only.find((one) => one === "thinks" || one === "direct") ?? "";
  const folded = open ? "" : "max-md:hidden";
  const hasExtras = address.view === "table" && board.dimensions.some((one) => one.weight === 0);
  const checkbox = (filter: string, title: string, className = "") => (
    <label key={filter} className={`flex items-center gap-1.5 text-sm ${className}`}>
      <input
        type="checkbox"
        className="size-4 accent-accent"
        checked={only.includes(filter)}
        onChange={(event) => set(filter, event.target.checked)}
      />
      {title}
    </label>
  );
  return (
    <>
      <button type="button" className="button md:hidden" aria-expanded={open} onClick={() => setOpen(!open)}>
        Filter and order{only.length ? ` (${String(only.length)})` : ""}
      </button>
      <label className={`min-w-0 ${address.find ? "" : folded}`}>
        <span className="eyebrow block">Find a subject</span>
        <input
          type="search"
          className="field w-44"
          value={address.find}
          placeholder="name, vendor, provider"
          onChange={(event) => update({ find: event.target.value })}
        />
      </label>
      {names.length > 1 ? (
        <SelectField
          label="Vendor"
          className={folded}
          selectClass="max-w-36"
          value={vendor}
          options={[{ value: "", title: "all" }, ...names.map((name) => ({ value: VENDOR + name, title: name }))]}
          onChange={(value) => set(value || vendor, value !== "")}
        />
      ) : null}
      <SelectField
        label="Reasoning"
        className={folded}
        value={reasoning}
        options={[
          { value: "", title: "all" },
          { value: "thinks", title: FILTERS.thinks },
          { value: "direct", title: FILTERS.direct },
        ]}
        onChange={(value) => {
          const rest = only.filter((one) => one !== reasoning);
          update({ only: value ? [...rest, value] : rest });
        }}
      />
      <fieldset className={`${open ? "flex" : "hidden md:flex"} min-h-[2.1rem] flex-wrap items-center gap-x-3`}>
        <legend className="sr-only">Only</legend>
        {FLAGS.map((name) => checkbox(name, FILTERS[name]))}
        {hasExtras ? checkbox(EXTRAS, "dimensions without weight", "max-lg:hidden") : null}
      </fieldset>
      <SelectField
        label="Order"
        className={`md:hidden ${folded}`}
        value={sort.format(address.sort)}
        options={[
          { value: "", title: "rank" },
          ...board.dimensions.map(({ name, title }) => ({ value: sort.format({ by: name, descending: true }), title })),
          { value: sort.format({ by: "value", descending: true }), title: "index per dollar" },
          { value: sort.format({ by: "subject", descending: false }), title: "name" },
        ]}
        onChange={(value) => update({ sort: sort.parse(value) })}
      />
    </>
  );
}
