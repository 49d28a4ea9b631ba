import { useMemo, useState, type ReactNode } from "react";
import { subjectAt, transcriptAt, type Address, type Sort } from "../../addresses";
import { paths } from "../../api/paths";
import type { JudgedPlace, JudgedSubject, Judges as Told, Panel } from "../../api/types";
import { Sideways } from "../../parts/Sideways";
import { BoardChooser } from "../../parts/BoardChooser";
import { count, plural, shown, words } from "../../parts/format";
import { Grid, type Column } from "../../parts/Grid";
import { useHere } from "../../parts/place";
import { Empty, Failed, Loading } from "../../parts/states";
import { inBoth, Take } from "../../parts/Take";
import { useAnswer } from "../../parts/useAnswer";
import { useTitle } from "../../parts/useTitle";

type At = Extract<Address, { page: "judges" }>;

/** The judges beside each other: how far they agree, whom they favour, where they disagree. */
export default function Judges() {
  const { board, address } = useHere();
  const answer = useAnswer<Told>(paths.judges(board.protocol));
  useTitle("Judges");
  if (address.page !== "judges") return null;
  return (
    <>
      <h1>Judges</h1>
      <p className="mt-1 mb-4 max-w-3xl text-soft">
        A number of this benchmark is what one judge made of what was said. Whether another would have made the same of
        it stands here.
      </p>
      <BoardChooser />
      {answer.state === "loading" ? <Loading what="the judges; the first time this may take some seconds" /> : null}
      {answer.state === "failed" ? <Failed failure={answer.failure} again={answer.again} /> : null}
      {answer.state === "ready" ? <Panels judges={answer.value} at={address} /> : null}
    </>
  );
}

function Panels({ judges, at }: { judges: Told; at: At }) {
  const { go, board } = useHere();
  const named = judges.panels.map((panel) => ({ name: panel.configurations.join(" + "), panel }));
  const mine = board.configurations.join(" + ");
  const now = named.find((one) => one.name === at.view) ?? named.find((one) => one.name === mine) ?? named[0];
  if (!now) return <Empty title="Nothing has been judged yet.">`aib judge` has a judge mark what was played.</Empty>;
  const path = paths.judges(judges.protocol.id);
  return (
    <div className="mt-4">
      <div className="flex flex-wrap items-end justify-between gap-4">
        {named.length > 1 ? (
          <label>
            <span className="eyebrow block">Judged in</span>
            <select
              className="field"
              value={now.name}
              onChange={(event) => {
                go({ page: "judges", view: event.target.value }, {}, true);
              }}
            >
              {named.map(({ name }) => (
                <option key={name} value={name}>
                  {words(name)}
                </option>
              ))}
            </select>
          </label>
        ) : (
          <p className="text-soft">{words(now.name)}</p>
        )}
        <Take files={inBoth(path)} />
      </div>
      <One key={now.name} panel={now.panel} />
    </div>
  );
}

function letter(place: number): string {
  return place < 26
    ? String.fromCharCode(65 + place)
    : `${letter(Math.floor(place / 26) - 1)}${String.fromCharCode(65 + (place % 26))}`;
}

const KIND = { model: "a model", table: "the embedded table", person: "a person", jury: "a jury" };

function One({ panel }: { panel: Panel }) {
  const letters = useMemo(() => new Map(panel.judges.map((one, place) => [one.label, letter(place)])), [panel]);
  const of = (label: string) => letters.get(label) ?? "?";
  return (
    <>
      <Section
        title="The judges"
        says={`${plural(panel.conversations, "conversation")}, each counted once however often it was said. Lenient: its index minus the mean of the others', over the subjects that all have one for.${panel.main ? ` Main judge, who answers where nobody says by which: ${panel.main}.` : ""}`}
      >
        <table className="data w-full">
          <caption className="sr-only">The judges</caption>
          <thead>
            <tr>
              <th scope="col">
                <span className="sr-only">Letter</span>
              </th>
              <th scope="col">Judge</th>
              <th scope="col">Kind</th>
              <th scope="col" className="num">
                Judged
              </th>
              <th scope="col" className="num">
                Failed
              </th>
              <th scope="col" className="num">
                Lenient
              </th>
              <th scope="col" className="num" title="What a run of one subject takes this judge">
                $ a run
              </th>
              <th scope="col" className="num" title="What the calls for a run of one subject take, one after the other">
                Seconds a run
              </th>
              <th scope="col" className="num">
                To read
              </th>
            </tr>
          </thead>
          <tbody>
            {panel.judges.map((one) => (
              <tr key={one.label}>
                <td className="font-semibold text-accent">{of(one.label)}</td>
                <th scope="row" className="label font-normal">
                  <bdi>{one.label}</bdi>
                </th>
                <td className="text-soft">{KIND[one.kind]}</td>
                <td className="num">{count(one.judged)}</td>
                <td className={`num ${one.failed ? "text-warn" : ""}`}>{shown(one.shown.failed_share)}</td>
                <td className="num">{shown(one.shown.leniency)}</td>
                <td className="num">{shown(one.shown.dollars_per_run)}</td>
                <td className="num">{shown(one.shown.seconds_per_run)}</td>
                <td className="num">{count(one.flagged)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
      {panel.judges.length < 2 ? (
        <Empty title="One judge alone agrees with itself.">
          <code>aib judge -j ANOTHER</code> has another one mark the same conversations; nothing is erased by it.
        </Empty>
      ) : (
        <>
          <Agreement panel={panel} of={of} />
          <Subjects panel={panel} of={of} />
          <Favours panel={panel} of={of} />
          <Disputes panel={panel} of={of} />
        </>
      )}
      <ToRead panel={panel} of={of} />
    </>
  );
}

interface Part {
  panel: Panel;
  of: (label: string) => string;
}

function Section({ title, says, children }: { title: string; says: string; children: ReactNode }) {
  return (
    <section className="mt-8" aria-label={title}>
      <h2>{title}</h2>
      {says ? <p className="mb-2 max-w-4xl text-sm text-soft">{says}</p> : null}
      <Sideways className="lg:overflow-visible">{children}</Sideways>
    </section>
  );
}

function Agreement({ panel, of }: Part) {
  return (
    <>
      <Section
        title="Agreement on each mark"
        says="1 is perfect, 0 is chance. Alpha: Krippendorff's, all judges; ICC(2,k): how reliable the mean of the judges is; kappa: quadratic, each pair. A dash: fewer than ten conversations, or marks that do not vary."
      >
        <table className="data w-full">
          <caption className="sr-only">Agreement on each mark</caption>
          <thead>
            <tr>
              <th scope="col">Mark</th>
              <th scope="col" className="num">
                Conversations
              </th>
              <th scope="col" className="num">
                Alpha
              </th>
              <th scope="col" className="num">
                ICC(2,k)
              </th>
              <th scope="col">Kappa of each pair</th>
            </tr>
          </thead>
          <tbody>
            {panel.marks.map((row) => (
              <tr key={row.mark.name}>
                <th scope="row" className="font-normal" title={row.mark.asks}>
                  {row.mark.title}
                </th>
                <td className="num">{count(row.conversations)}</td>
                <td className="num font-semibold">{shown(row.shown.alpha)}</td>
                <td className="num">
                  {shown(row.shown.icc)}
                  {row.icc === null ? "" : <span className="text-faint"> k={row.icc_judges}</span>}
                </td>
                <td className="text-sm text-soft">
                  {row.kappas
                    .slice(0, 10)
                    .map((pair) => `${of(pair.one)}${of(pair.other)} ${shown(pair.shown.kappa)}`)
                    .join(" · ")}
                  {row.kappas.length > 10 ? ` … ${String(row.kappas.length - 10)} more in the JSON` : ""}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
      <Section
        title="Agreement of each pair"
        says="Rank correlation: Spearman's, of the subjects' indices; kappa: the mean over all marks."
      >
        <table className="data">
          <caption className="sr-only">Agreement of each pair of judges</caption>
          <thead>
            <tr>
              <th scope="col">Judges</th>
              <th scope="col" className="num">
                Subjects
              </th>
              <th scope="col" className="num">
                Rank correlation
              </th>
              <th scope="col" className="num">
                Conversations
              </th>
              <th scope="col" className="num">
                Kappa
              </th>
            </tr>
          </thead>
          <tbody>
            {panel.pairs.map((pair) => (
              <tr key={`${pair.one} ${pair.other}`}>
                <th scope="row" className="font-normal" title={`${pair.one} and ${pair.other}`}>
                  {of(pair.one)} and {of(pair.other)}
                </th>
                <td className="num">{count(pair.subjects)}</td>
                <td className="num font-semibold">{shown(pair.shown.rank_correlation)}</td>
                <td className="num">{count(pair.conversations)}</td>
                <td className="num">{shown(pair.shown.kappa)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Section>
    </>
  );
}

function Subjects({ panel, of }: Part) {
  const { href } = useHere();
  const [sort, setSort] = useState<Sort | null>(null);
  const columns = useMemo<Column<JudgedSubject>[]>(
    () => [
      {
        id: "label",
        title: "Subject",
        head: true,
        up: true,
        value: (row) => row.label,
        show: (row) => (
          <a href={href(subjectAt(row.subject))} className="no-underline hover:underline">
            <bdi className="label">{row.label}</bdi>
          </a>
        ),
      },
      ...panel.judges.map((one, place): Column<JudgedSubject> => ({
        id: `judge${String(place)}`,
        title: of(one.label),
        hint: one.label,
        align: "right",
        value: (row) => row.indices[place],
        show: (row) => shown(row.shown.indices[place]),
      })),
      { id: "mean", title: "Mean", align: "right", value: (row) => row.mean, show: (row) => shown(row.shown.mean) },
      {
        id: "spread",
        title: "Spread",
        hint: "highest minus lowest",
        align: "right",
        value: (row) => row.spread,
        show: (row) => shown(row.shown.spread),
      },
    ],
    [panel, of, href],
  );
  return (
    <Section
      title="Each subject under each judge"
      says="The index by each judge, their mean, and the highest minus the lowest."
    >
      <Grid
        rows={panel.subjects}
        columns={columns}
        keyOf={(row) => row.subject}
        caption="Subjects under each judge"
        sort={sort}
        onSort={setSort}
      />
    </Section>
  );
}

function Favours({ panel, of }: Part) {
  if (!panel.favours.length) {
    return (
      <Section
        title="What judges give themselves"
        says="No judge is a subject here too, nor of the family of one: there is nothing to say of self-preference."
      >
        <span />
      </Section>
    );
  }
  return (
    <Section
      title="What judges give themselves"
      says="A judge favours its own where the difference is clearly above that for all other subjects (“elsewhere”)."
    >
      <table className="data">
        <caption className="sr-only">What judges give their own kind</caption>
        <thead>
          <tr>
            <th scope="col">Judge</th>
            <th scope="col">Gives</th>
            <th scope="col" className="num">
              Subjects
            </th>
            <th scope="col" className="num">
              Own
            </th>
            <th scope="col" className="num">
              Others give
            </th>
            <th scope="col" className="num">
              Difference
            </th>
            <th scope="col" className="num">
              Elsewhere
            </th>
          </tr>
        </thead>
        <tbody>
          {panel.favours.map((one) => (
            <tr key={`${one.judge} ${one.whom}`}>
              <th scope="row" className="font-normal" title={one.judge}>
                {of(one.judge)}
              </th>
              <td>
                {one.whom}
                {one.family ? <bdi className="text-faint"> ({one.family})</bdi> : null}
              </td>
              <td className="num">{one.subjects}</td>
              <td className="num">{one.shown.own}</td>
              <td className="num">{one.shown.others}</td>
              <td className="num font-semibold">{one.shown.difference}</td>
              <td className="num">{shown(one.shown.elsewhere)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Section>
  );
}

const FEW = 25;

function Disputes({ panel, of }: Part) {
  const [all, setAll] = useState(false);
  const shown = all ? panel.disputes : panel.disputes.slice(0, FEW);
  return (
    <Section
      title="Where they disagree most"
      says={`${count(panel.disputed)} conversations are not marked alike; by the mean distance of their marks.`}
    >
      <ul className="border-t border-line">
        {shown.map((one, place) => (
          <li
            key={place}
            className="grid gap-x-4 border-b border-line py-1.5 md:grid-cols-[minmax(0,1fr)_minmax(0,1.2fr)_4rem]"
          >
            <Where place={one.place} />
            <span className="text-sm text-soft">
              {one.marks
                .map(
                  ({ mark: name, shown: { values } }) =>
                    `${words(name)}: ${values.flatMap((value, judge) => (value === null ? [] : [`${of(panel.judges[judge]?.label ?? "")} ${value}`])).join(" ")}`,
                )
                .join(" · ")}
            </span>
            <span className="num" title="mean over marks of the highest minus the lowest, as a share of the scale">
              {one.shown.spread}
            </span>
          </li>
        ))}
      </ul>
      {!all && panel.disputes.length > FEW ? (
        <button
          type="button"
          className="button mt-2"
          onClick={() => {
            setAll(true);
          }}
        >
          Show {panel.disputes.length}
        </button>
      ) : null}
    </Section>
  );
}

function ToRead({ panel, of }: Part) {
  const [all, setAll] = useState(false);
  if (!panel.flagged.length) return null;
  const shown = all ? panel.flagged : panel.flagged.slice(0, FEW);
  return (
    <Section
      title="Verdicts to read"
      says={`${count(panel.flagged_in_all)} in all. A flag changes no mark: the reasoning seems to contradict it, or it is far from the embedded judge's.`}
    >
      <ul className="border-t border-line">
        {shown.map((one, place) => (
          <li
            key={place}
            className="grid gap-x-4 border-b border-line py-1.5 md:grid-cols-[minmax(0,1fr)_2rem_minmax(0,1.2fr)]"
          >
            <Where place={one.place} />
            <span title={one.judge} className="font-semibold text-accent">
              {of(one.judge)}
            </span>
            <span className="text-sm text-warn">{one.flags.map((flag) => flag.why).join("; ")}</span>
          </li>
        ))}
      </ul>
      {!all && panel.flagged.length > FEW ? (
        <button
          type="button"
          className="button mt-2"
          onClick={() => {
            setAll(true);
          }}
        >
          Show {panel.flagged.length}
        </button>
      ) : null}
    </Section>
  );
}

function Where({ place }: { place: JudgedPlace }) {
  const { href } = useHere();
  const said = (
    <>
      <bdi className="label">{place.label}</bdi>
      <span className="eyebrow">
        {" "}
        {place.scenario}, run {place.run}
      </span>
    </>
  );
  return place.transcript ? <a href={href(transcriptAt(place.transcript))}>{said}</a> : <span>{said}</span>;
}
