import { compareAt, subjectAt, type Choice, type PlaceOf } from "../../addresses";
import type { Board, Effect, Interval, Configurations as Means, Settings as Told } from "../../api/types";
import { Headings } from "../../parts/Headings";
import { Sideways } from "../../parts/Sideways";
import { plural, shown, words } from "../../parts/format";
import { useHere } from "../../parts/place";
import { Empty } from "../../parts/states";
import { Configurations } from "./Configurations";
import { Stands } from "./Stands";

/** One subject in two configurations; then what prompt, delivery, provider and reasoning do on average. */
export function Settings({ board, at }: { board: Board; at: PlaceOf<"compare"> & Choice }) {
  const { configurations, settings } = board;
  if (!configurations && !settings.length && !board.in_several.length) {
    return (
      <Empty title="Nothing to compare here yet.">
        It needs one subject in two configurations, or a model under two providers or two efforts of reasoning.
      </Empty>
    );
  }
  return (
    <>
      {board.in_several.length ? <Configurations board={board} at={at} /> : null}
      {configurations ? <Places told={configurations} /> : null}
      {(["reasoning", "provider"] as const).map((by) => {
        const mine = settings.filter((one) => one.by === by);
        return mine.length ? (
          <section key={by} className="mt-8" aria-label={TITLES[by]}>
            <h2>{TITLES[by]}</h2>
            <p className="mb-2 text-sm text-soft">
              Models that are equal in everything else. Each interval is by itself; <Stands /> differs by more than
              chance, even with so many looked at (Holm’s procedure).
            </p>
            <div className="grid gap-4 lg:grid-cols-2">
              {mine.map((one, place) => (
                <Group key={place} told={one} />
              ))}
            </div>
          </section>
        ) : null;
      })}
    </>
  );
}

const TITLES = { reasoning: "Reasoning", provider: "Providers" };

function Group({ told }: { told: Told }) {
  const { href } = useHere();
  const base = told.variants.find((one) => one.difference === null && one.index !== null);
  return (
    <article className="panel min-w-0 px-4 py-3">
      <h3>
        <bdi className="label">{told.model}</bdi>
      </h3>
      <Sideways>
        <table className="data w-full">
          <caption className="sr-only">{told.model} under several settings</caption>
          <Headings
            first={told.by === "provider" ? "Provider" : "Effort"}
            numbers={[["Index"], ["Difference"], ["Runs"]]}
          >
            <th scope="col">
              <span className="sr-only">Compare</span>
            </th>
          </Headings>
          <tbody>
            {told.variants.map((one) => (
              <tr key={one.subject}>
                <th scope="row" className="font-normal">
                  <a href={href(subjectAt(one.subject))}>
                    <bdi className="label">{one.setting}</bdi>
                  </a>
                  {one.served.length ? (
                    <span className="eyebrow label block">
                      {one.served
                        .slice(0, 3)
                        .map((s) => s.provider)
                        .join(", ")}
                    </span>
                  ) : null}
                </th>
                <td className="num">{shown(one.shown.index)}</td>
                <td className="num">
                  {one.stands ? <Stands /> : null} {one === base ? "base" : shown(one.shown.difference)}
                  {one === base ? null : <Sure interval={one.uncertainty.again} why={one.uncertainty.why} />}
                </td>
                <td className="num">{one.runs}</td>
                <td className="num">
                  {base && one !== base ? (
                    <a
                      href={href(compareAt(), { picked: [base.subject, one.subject] })}
                      aria-label={`Compare ${base.setting} and ${one.setting}`}
                    >
                      compare
                    </a>
                  ) : null}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Sideways>
    </article>
  );
}

/** How far a difference is known, below it. */
function Sure({ interval, why }: { interval: Interval | null; why: string | null }) {
  return (
    <span className="block text-sm text-soft" title={why ?? "95 %, were the same test given again"}>
      {interval?.shown ?? "no interval"}
    </span>
  );
}

function Places({ told }: { told: Means }) {
  return (
    <section className="mt-10" aria-label="Prompt and delivery">
      <h2>Prompt and delivery</h2>
      <p className="mb-2 text-sm text-soft">
        What the system prompt and the way of delivery do to the index, each subject compared with itself. Each interval
        is by itself.
      </p>
      <div className="grid gap-6 lg:grid-cols-2">
        <Sideways className="self-start">
          <table className="data">
            <caption className="sr-only">Mean index in every configuration</caption>
            <Headings
              first="Configuration"
              numbers={[
                ["Subjects"],
                ["Mean"],
                ["Paired", "over the subjects that have an index in every configuration"],
              ]}
            />
            <tbody>
              {told.places.map((one) => (
                <tr key={one.configuration}>
                  <th scope="row" className="font-normal">
                    {words(one.configuration)}
                  </th>
                  <td className="num">{one.subjects}</td>
                  <td className="num">{one.shown.mean}</td>
                  <td className="num">{shown(one.shown.paired)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Sideways>
        <ul>
          {told.effects.map((one, place) => (
            <li key={place} className="flex justify-between gap-4 border-b border-line py-1">
              <span>
                {sentence(one)} <span className="eyebrow">{plural(one.subjects, "subject")}</span>
              </span>
              <span className="num">
                <span className="font-semibold">{one.shown.points}</span>
                <Sure interval={one.again} why={null} />
              </span>
            </li>
          ))}
        </ul>
      </div>
    </section>
  );
}

function sentence({ factor, level, base, within }: Effect): string {
  if (factor === "interaction") return `${words(level)}: how much more the one adds where the other is there`;
  return `${words(level)} instead of ${words(base)}${within ? `, under ${words(within)}` : ", on average"}`;
}
