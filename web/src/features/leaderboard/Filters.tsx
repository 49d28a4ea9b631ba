import { useMemo, useState } from "react";
import type { Board } from "../../api/types";
import { COST } from "../../components/boardRows";
import { Button, IntervalSwitch, SelectField } from "../../components/fields";
import { usePage } from "../../hooks/usePage";
import { sort, type AddressOf } from "../../routes";
import { EXTRAS, FILTERS, toggled, VENDOR, vendors } from "./filters";

const FLAGS = ["best", "pinned", "picked"] as const;

/** Search, and folded behind a button: filters, which intervals, and on a phone the order. */
export function Filters({ board, address }: { board: Board; address: AddressOf<"leaderboard"> }) {
  const { update } = usePage();
  const { only, most, find } = address;
  const [open, setOpen] = useState(false);
  const set = only.length + Number(most !== "");
  return (
    <>
      <label className={open || find ? "" : "max-md:hidden"}>
        <span className="sr-only">Find a model</span>
        <input
          type="search"
          className="field w-60"
          value={find}
          placeholder="Model, vendor, provider"
          onChange={(event) => update({ find: event.target.value })}
        />
      </label>
      <Button className="max-sm:px-2" aria-expanded={open} onClick={() => setOpen(!open)}>
        Filters{set ? ` (${set})` : ""} <span aria-hidden="true">{open ? "▴" : "▾"}</span>
      </Button>
      {set || find ? (
        <button type="button" className="link-button text-sm" onClick={() => update({ only: [], most: "", find: "" })}>
          Clear
        </button>
      ) : null}
      {open ? <Panel board={board} address={address} /> : null}
    </>
  );
}

function Panel({ board, address }: { board: Board; address: AddressOf<"leaderboard"> }) {
  const { update } = usePage();
  const { only } = address;
  const names = useMemo(() => vendors(board.rows), [board]);
  const set = (filter: string, on: boolean) => update({ only: toggled(only, filter, on) });
  const vendor = only.find((filter) => filter.startsWith(VENDOR)) ?? "";
  const reasoning = only.find((filter) => filter === "thinks" || filter === "direct") ?? "";
  const priced = board.rows.some(({ price }) => price?.dollars_per_run != null);
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
    <div className="panel order-last flex w-full flex-wrap items-end gap-x-5 gap-y-2 px-3 pt-1.5 pb-2.5">
      {names.length > 1 ? (
        <SelectField
          label="Vendor"
          selectClass="max-w-36"
          value={vendor}
          options={[{ value: "", title: "all" }, ...names.map((name) => ({ value: VENDOR + name, title: name }))]}
          onChange={(value) => set(value || vendor, value !== "")}
        />
      ) : null}
      <SelectField
        label="Reasoning"
        value={reasoning}
        options={[
          { value: "", title: "all" },
          { value: "thinks", title: FILTERS.thinks },
          { value: "direct", title: FILTERS.direct },
        ]}
        onChange={(value) => {
          const rest = only.filter((filter) => filter !== reasoning);
          update({ only: value ? [...rest, value] : rest });
        }}
      />
      {priced ? (
        <label>
          <span className="eyebrow block">At most $ a run</span>
          <input
            className="field w-24"
            inputMode="decimal"
            value={address.most}
            placeholder="0.01"
            onChange={(event) => update({ most: event.target.value })}
          />
        </label>
      ) : null}
      <IntervalSwitch />
      <SelectField
        label="Order"
        className="md:hidden"
        value={sort.format(address.sort)}
        options={[
          { value: "", title: "rank" },
          ...board.dimensions
            .filter(({ weight }) => weight || only.includes(EXTRAS))
            .map(({ name, title }) => ({ value: sort.format({ by: name, descending: true }), title })),
          ...(priced ? [{ value: sort.format({ by: COST, descending: false }), title: "dollars a run" }] : []),
          { value: sort.format({ by: "subject", descending: false }), title: "name" },
        ]}
        onChange={(value) => update({ sort: sort.parse(value) })}
      />
      <fieldset className="flex min-h-[2.1rem] flex-wrap items-center gap-x-3">
        <legend className="sr-only">Only</legend>
        {FLAGS.map((name) => checkbox(name, FILTERS[name]))}
        {address.view === "table" ? checkbox(EXTRAS, "all columns", "max-lg:hidden") : null}
      </fieldset>
    </div>
  );
}
