import { useMemo, useState } from "react";
import type { Address } from "../../addresses";
import type { Board } from "../../api/types";
import { useHere } from "../../parts/place";
import { EXTRAS, FILTERS, switched, VENDOR, vendors } from "./filters";

type At = Extract<Address, { page: "leaderboard" }>;

/** Search and filters, and on a phone the order too (there are no heads to click on). */
export function Filters({ board, at }: { board: Board; at: At }) {
  const { go } = useHere();
  const names = useMemo(() => vendors(board.rows), [board]);
  const vendor = at.only.find((one) => one.startsWith(VENDOR)) ?? "";
  const set = (filter: string, on: boolean) => {
    go({ ...at, only: switched(at.only, filter, on) }, {}, true);
  };
  const flags = Object.entries(FILTERS).filter(([name]) => !["thinks", "direct"].includes(name));
  const thinks = at.only.includes("thinks") ? "thinks" : at.only.includes("direct") ? "direct" : "";
  const [open, setOpen] = useState(false);
  const folded = open ? "" : "max-md:hidden";
  const unweighted = board.dimensions.some((one) => one.weight === 0);
  return (
    <>
      <button
        type="button"
        className="button md:hidden"
        aria-expanded={open}
        onClick={() => {
          setOpen(!open);
        }}
      >
        Filter and order{at.only.length ? ` (${String(at.only.length)})` : ""}
      </button>
      <label className={`min-w-0 ${at.find ? "" : folded}`}>
        <span className="eyebrow block">Find a subject</span>
        <input
          type="search"
          className="field w-44"
          value={at.find}
          placeholder="name, vendor, provider"
          onChange={(event) => {
            go({ ...at, find: event.target.value }, {}, true);
          }}
        />
      </label>
      {names.length > 1 ? (
        <label className={`min-w-0 ${folded}`}>
          <span className="eyebrow block">Vendor</span>
          <select
            className="field max-w-36"
            value={vendor}
            onChange={(event) => {
              set(event.target.value || vendor, event.target.value !== "");
            }}
          >
            <option value="">all</option>
            {names.map((name) => (
              <option key={name} value={VENDOR + name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      ) : null}
      <label className={`min-w-0 ${folded}`}>
        <span className="eyebrow block">Reasoning</span>
        <select
          className="field"
          value={thinks}
          onChange={(event) => {
            const rest = at.only.filter((one) => one !== "thinks" && one !== "direct");
            go({ ...at, only: event.target.value ? [...rest, event.target.value] : rest }, {}, true);
          }}
        >
          <option value="">all</option>
          <option value="thinks">{FILTERS.thinks}</option>
          <option value="direct">{FILTERS.direct}</option>
        </select>
      </label>
      <fieldset className={`${open ? "flex" : "hidden md:flex"} min-h-[2.1rem] flex-wrap items-center gap-x-3`}>
        <legend className="sr-only">Only</legend>
        {flags.map(([name, title]) => (
          <label key={name} className="flex items-center gap-1.5 text-sm">
            <input
              type="checkbox"
              className="size-4 accent-accent"
              checked={at.only.includes(name)}
              onChange={(event) => {
                set(name, event.target.checked);
              }}
            />
            {title}
          </label>
        ))}
        {unweighted && at.view === "table" ? (
          <label className="flex items-center gap-1.5 text-sm max-lg:hidden">
            <input
              type="checkbox"
              className="size-4 accent-accent"
              checked={at.only.includes(EXTRAS)}
              onChange={(event) => {
                set(EXTRAS, event.target.checked);
              }}
            />
            dimensions without weight
          </label>
        ) : null}
      </fieldset>
      <label className={`md:hidden ${folded}`}>
        <span className="eyebrow block">Order</span>
        <select
          className="field"
          value={at.sort ? `${at.sort.down ? "-" : ""}${at.sort.by}` : ""}
          onChange={(event) => {
            const by = event.target.value;
            go({ ...at, sort: by ? { by: by.replace(/^-/, ""), down: by.startsWith("-") } : null }, {}, true);
          }}
        >
          <option value="">rank</option>
          {board.dimensions.map((dimension) => (
            <option key={dimension.name} value={`-${dimension.name}`}>
              {dimension.title}
            </option>
          ))}
          <option value="-value">index per dollar</option>
          <option value="subject">name</option>
        </select>
      </label>
    </>
  );
}
