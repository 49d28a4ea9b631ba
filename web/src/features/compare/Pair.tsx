import { useMemo, useState } from "react";
import type { Choice, PlaceOf } from "../../addresses";
import type { Board, Compared, Differences, Interval } from "../../api/types";
import { Sideways } from "../../parts/Sideways";
import { shown } from "../../parts/format";
import { DifferenceBar } from "../../parts/DifferenceBar";
import { heat } from "../../parts/Heat";
import { useHere } from "../../parts/place";
import { Answers, type Speaker } from "./Answers";
import { Stands } from "./Stands";

/** One of the two that are compared. */
export interface Side extends Speaker {
  values: readonly (number | null)[]; // in the order of *compared*
  shown: readonly (string | null)[]; // the same, as text
}

interface Props {
  board: Board;
  compared: readonly Compared[];
  sides: readonly [Side, Side];
  apart: Differences; // B minus A
  at: PlaceOf<"compare">;
  kind: Choice["interval"];
}

const FEW = 12; // places shown before somebody asks for all

/** Index and dimensions with paired differences; then the scenarios, those that flipped first. */
export function Pair({ board, compared, sides, apart, at, kind }: Props) {
  const [all, setAll] = useState(false);
  const whole = compared.flatMap((one, place) => (one.scenario === null ? [place] : []));
  const rest = apart.order.filter((place) => compared[place]?.scenario != null);
  const flipped = apart.flipped.filter((place) => compared[place]?.scenario != null);
  const reach = useMemo(() => reachOf(apart, whole), [apart, whole]);
  const titles = useTitles(board);
  const [first, second] = sides;
  const itself = first.subject === second.subject;
  const stand = kind === "like" ? apart.stand_another : apart.stand;
  return (
    <>
      <section className="mt-5" aria-label="Differences">
        <h2>Overall</h2>
        <Sideways>
          <table className="data w-full">
            <caption className="sr-only">Index and dimensions of both, and the difference</caption>
            <thead>
              <tr>
                <th scope="col">
                  <span className="sr-only">What is compared</span>
                </th>
                <th scope="col" className="num">
                  <span title={first.label}>A</span>
                </th>
                <th scope="col" className="num">
                  <span title={second.label}>B</span>
                </th>
                <th scope="col" className="num">
                  B − A
                </th>
                <th scope="col" className="num max-sm:hidden">
                  95 % interval
                </th>
                <th scope="col" className="w-1/3 max-md:hidden">
                  <span className="flex justify-between text-xs font-normal text-faint">
                    <span>← A is higher</span>
                    <span>B is higher →</span>
                  </span>
                </th>
              </tr>
            </thead>
            <tbody>
              {whole.map((place) => {
                const interval = intervalOf(apart, place, kind);
                const name = compared[place]?.dimension ?? null;
                return (
                  <tr key={place} className={name === null ? "font-semibold" : ""}>
                    <th scope="row" className={name === null ? "font-semibold" : "font-normal"}>
                      {name === null ? "Independence Index" : titles.dimension(name)}
                    </th>
                    <td className="num">{shown(first.shown[place])}</td>
                    <td className="num">{shown(second.shown[place])}</td>
                    <td className="num">
                      {stand.includes(place) ? <Stands /> : null} {shown(apart.shown[place])}
                      <span className="block text-sm font-normal text-soft sm:hidden">{interval?.shown}</span>
                    </td>
                    <td className="num text-soft max-sm:hidden">{shown(interval?.shown)}</td>
                    <td className="max-md:hidden">
                      <DifferenceBar
                        value={apart.points[place] ?? null}
                        says={apart.shown[place]}
                        interval={interval}
                        reach={reach}
                      />
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </Sideways>
        <p className="mt-1 text-sm text-soft">
          Each interval is by itself.{" "}
          {whole.some((place) => stand.includes(place)) ? (
            <>
              <Stands /> a dimension that differs by more than chance, even with so many looked at (Holm’s procedure).
            </>
          ) : (
            "No dimension differs by more than chance, so many being looked at (Holm’s procedure)."
          )}
        </p>
        {apart.why ? <p className="mt-1 text-sm text-soft">Where an interval is missing: {apart.why}</p> : null}
      </section>
      <Scenarios
        title={itself ? "Where it flipped" : "Where they flipped"}
        says={`${
          itself
            ? "In one of the two it keeps itself (above 50), in the other it gives in (below 50)."
            : "One of them keeps itself (above 50), the other gives in (below 50)."
        } Open a row to read both answers.`}
        none="Nowhere: in every scenario both are on the same side of 50."
        places={flipped}
        {...{ compared, sides, apart, at, titles }}
      />
      <Scenarios
        title="Everything else, largest difference first"
        says=""
        none="Nothing else that both of them have."
        places={all ? rest : rest.slice(0, FEW)}
        {...{ compared, sides, apart, at, titles }}
      />
      {!all && rest.length > FEW ? (
        <button
          type="button"
          className="button mt-2"
          onClick={() => {
            setAll(true);
          }}
        >
          Show all {rest.length}
        </button>
      ) : null}
    </>
  );
}

interface Titles {
  dimension: (name: string) => string;
  scenario: (id: string) => string;
}

function useTitles(board: Board): Titles {
  return useMemo(() => {
    const dimensions = new Map(board.dimensions.map((one) => [one.name, one.title]));
    const scenarios = new Map(board.scenarios.map((one) => [one.id, one.title]));
    return { dimension: (name) => dimensions.get(name) ?? name, scenario: (id) => scenarios.get(id) ?? id };
  }, [board]);
}

interface ScenariosProps extends Omit<Props, "board" | "kind"> {
  title: string;
  says: string;
  none: string;
  places: readonly number[];
  titles: Titles;
}

function Scenarios({ title, says, none, places, ...line }: ScenariosProps) {
  const stand = places.some((place) => line.apart.stand.includes(place));
  return (
    <section className="mt-8" aria-label={title}>
      <h2>{title}</h2>
      {says && places.length ? <p className="text-sm text-soft">{says}</p> : null}
      {stand ? (
        <p className="text-sm text-soft">
          <Stands /> more than chance on this test, even with so many looked at (Holm’s procedure).
        </p>
      ) : null}
      {places.length ? (
        <ul className="mt-2 border-t border-line">
          {places.map((place) => (
            <Line key={place} place={place} {...line} />
          ))}
        </ul>
      ) : (
        <p className="text-soft">{none}</p>
      )}
    </section>
  );
}

function Line({
  place,
  compared,
  sides,
  apart,
  at,
  titles,
}: Omit<ScenariosProps, "title" | "says" | "none" | "places"> & { place: number }) {
  const { go } = useHere();
  const one = compared[place];
  if (!one || one.scenario === null) return null;
  const { scenario, dimension } = one;
  const [first, second] = sides;
  const interval = intervalOf(apart, place, "again");
  const key = `${scenario}.${dimension ?? ""}`;
  const open = at.scenario === key;
  return (
    <li className="border-b border-line">
      <button
        type="button"
        aria-expanded={open}
        className="grid w-full grid-cols-[minmax(0,1fr)_2.6rem_2.6rem_5rem] items-baseline sm:grid-cols-[minmax(0,1fr)_3.2rem_3.2rem_4.2rem_6.5rem] gap-x-2 py-1.5 text-left hover:bg-sunk"
        onClick={() => {
          go({ ...at, scenario: open ? "" : key }, {}, true);
        }}
      >
        <span className="min-w-0">
          <span
            aria-hidden="true"
            className={`mr-1 inline-block w-3 text-faint transition-transform ${open ? "rotate-90" : ""}`}
          >
            ›
          </span>
          {titles.scenario(scenario)}
          {dimension ? <span className="eyebrow ml-2">{titles.dimension(dimension)}</span> : null}
        </span>
        <span className="num rounded px-1.5" style={heat(first.values[place])}>
          {shown(first.shown[place])}
        </span>
        <span className="num rounded px-1.5" style={heat(second.values[place])}>
          {shown(second.shown[place])}
        </span>
        <span className="num font-semibold">
          {apart.stand.includes(place) ? <Stands /> : null} {shown(apart.shown[place])}
          <span className="block text-xs font-normal text-soft sm:hidden">{interval?.shown}</span>
        </span>
        <span className="num text-sm text-soft max-sm:hidden">{interval?.shown}</span>
      </button>
      {open ? <Answers key={scenario} scenario={scenario} sides={sides} /> : null}
    </li>
  );
}

/** The interval of a difference: of scenarios there is only the one for the same test given again. */
function intervalOf(apart: Differences, place: number, kind: Choice["interval"]): Interval | null {
  if (kind === "like") return apart.another[place] ?? null;
  const [low, high] = [apart.lows[place], apart.highs[place]];
  const text = apart.between[place];
  return low == null || high == null || text == null ? null : { low, high, shown: text };
}

/** The end of the scale: what holds every difference and interval, in tens. */
function reachOf({ points, lows, highs, another }: Differences, places: readonly number[]): number {
  const ends = places.flatMap((at) => [points[at], lows[at], highs[at], another[at]?.low, another[at]?.high]);
  const most = Math.max(5, ...ends.map((end) => Math.abs(end ?? 0)));
  return Math.ceil(most / 10) * 10;
}
