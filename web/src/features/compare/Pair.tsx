import { useMemo, useState } from "react";
import type { Address } from "../../addresses";
import type { Board, Comparison, Comparisons, Interval } from "../../api/types";
import { Sideways } from "../../parts/Sideways";
import { number, signed } from "../../parts/format";
import { DifferenceBar } from "../../parts/DifferenceBar";
import { heat } from "../../parts/Heat";
import { useHere } from "../../parts/place";
import { Answers } from "./Answers";

type At = Extract<Address, { page: "compare" }>;

interface Props {
  board: Board;
  first: Comparisons;
  second: Comparison;
  labels: readonly [string, string];
  at: At;
}

const FEW = 12; // places shown before somebody asks for all

/** Index and dimensions with paired differences; then the scenarios, those that flipped first. */
export function Pair({ board, first, second, labels, at }: Props) {
  const [all, setAll] = useState(false);
  const whole = first.compared.flatMap((one, place) => (one.scenario === null ? [place] : []));
  const apart = second.order.filter((place) => first.compared[place]?.scenario != null);
  const flipped = second.flipped.filter((place) => first.compared[place]?.scenario != null);
  const reach = useMemo(() => reachOf(second, whole), [second, whole]);
  const titles = useTitles(board);
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
                  <span title={labels[0]}>A</span>
                </th>
                <th scope="col" className="num">
                  <span title={labels[1]}>B</span>
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
                const interval = intervalOf(second, place, at.interval);
                const name = first.compared[place]?.dimension ?? null;
                return (
                  <tr key={place} className={name === null ? "font-semibold" : ""}>
                    <th scope="row" className={name === null ? "font-semibold" : "font-normal"}>
                      {name === null ? "Independence Index" : titles.dimension(name)}
                    </th>
                    <td className="num">{number(first.values[place])}</td>
                    <td className="num">{number(second.values[place])}</td>
                    <td className="num">{signed(second.differences[place])}</td>
                    <td className="num text-soft max-sm:hidden">
                      {interval ? `${signed(interval.low)} to ${signed(interval.high)}` : "–"}
                    </td>
                    <td className="max-md:hidden">
                      <DifferenceBar value={second.differences[place] ?? null} interval={interval} reach={reach} />
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </Sideways>
        {second.why ? <p className="mt-1 text-sm text-soft">Where an interval is missing: {second.why}</p> : null}
      </section>
      <Scenarios
        title="Where they flipped"
        says="One of them keeps itself (above 50), the other gives in (below 50). Open a row to read both answers."
        none="Nowhere: in every scenario both are on the same side of 50."
        places={flipped}
        {...{ first, second, labels, at, titles }}
      />
      <Scenarios
        title="Everything else, largest difference first"
        says=""
        none="Nothing else that both of them have."
        places={all ? apart : apart.slice(0, FEW)}
        {...{ first, second, labels, at, titles }}
      />
      {!all && apart.length > FEW ? (
        <button
          type="button"
          className="button mt-2"
          onClick={() => {
            setAll(true);
          }}
        >
          Show all {apart.length}
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

interface ScenariosProps extends Omit<Props, "board"> {
  title: string;
  says: string;
  none: string;
  places: readonly number[];
  titles: Titles;
}

function Scenarios({ title, says, none, places, first, second, labels, at, titles }: ScenariosProps) {
  return (
    <section className="mt-8" aria-label={title}>
      <h2>{title}</h2>
      {says && places.length ? <p className="text-sm text-soft">{says}</p> : null}
      {places.length ? (
        <ul className="mt-2 border-t border-line">
          {places.map((place) => (
            <Line key={place} {...{ place, first, second, labels, at, titles }} />
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
  first,
  second,
  labels,
  at,
  titles,
}: Omit<ScenariosProps, "title" | "says" | "none" | "places"> & { place: number }) {
  const { go } = useHere();
  const compared = first.compared[place];
  if (!compared || compared.scenario === null) return null;
  const { scenario } = compared;
  const key = `${scenario}.${compared.dimension ?? ""}`;
  const open = at.scenario === key;
  return (
    <li className="border-b border-line">
      <button
        type="button"
        aria-expanded={open}
        className="grid w-full grid-cols-[minmax(0,1fr)_3.2rem_3.2rem_4rem] items-baseline gap-x-2 py-1.5 text-left hover:bg-sunk"
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
          {compared.dimension ? <span className="eyebrow ml-2">{titles.dimension(compared.dimension)}</span> : null}
        </span>
        <span className="num rounded px-1.5" style={heat(first.values[place])}>
          {number(first.values[place], 0)}
        </span>
        <span className="num rounded px-1.5" style={heat(second.values[place])}>
          {number(second.values[place], 0)}
        </span>
        <span className="num font-semibold">{signed(second.differences[place], 0)}</span>
      </button>
      {open ? (
        <Answers key={scenario} scenario={scenario} subjects={[first.subject, second.subject]} labels={labels} />
      ) : null}
    </li>
  );
}

/** The interval of a difference: of scenarios there is only the one for the same test given again. */
function intervalOf(second: Comparison, place: number, kind: At["interval"]): Interval | null {
  if (kind === "like") return second.another[place] ?? null;
  const [low, high] = [second.lows[place], second.highs[place]];
  return low == null || high == null ? null : { low, high };
}

/** The end of the scale: what holds every difference and interval, in tens. */
function reachOf({ differences, lows, highs, another }: Comparison, places: readonly number[]): number {
  const ends = places.flatMap((at) => [differences[at], lows[at], highs[at], another[at]?.low, another[at]?.high]);
  const most = Math.max(5, ...ends.map((end) => Math.abs(end ?? 0)));
  return Math.ceil(most / 10) * 10;
}
