import { endpoints, useApi } from "../../api/queries";
import type { Persona, PersonaItem, PersonaQuote, PersonaSubject } from "../../api/types";
import { BoardChooser } from "../../components/BoardChooser";
import { column, DataTable, headColumn, type Column } from "../../components/tables";
import { SubjectLabel } from "../../components/labels";
import { Await, Empty } from "../../components/status";
import { useDocumentTitle, usePage } from "../../hooks/usePage";
import { orDash, plural } from "../../lib/format";
import { route, type AddressOf } from "../../routes";

const NO_CHARACTER = "This leaderboard is about no character; choose another one below.";

/** Whether a character holds: the answer, its red lines, its items and the replies that show it. */
export default function PersonaPage({ address }: { address: AddressOf<"persona"> }) {
  const { board } = usePage();
  const persona = useApi(endpoints.persona(board.id));
  useDocumentTitle("Character");
  return (
    <>
      <Await query={persona} what="the character" explain={() => ({ next: NO_CHARACTER })}>
        {(value) => <Answer persona={value} asked={address.subject} />}
      </Await>
      <div className="mt-8 border-t border-line pt-3">
        <BoardChooser />
      </div>
    </>
  );
}

function Answer({ persona, asked }: { persona: Persona; asked: string }) {
  const { character, picture, subjects } = persona;
  useDocumentTitle(`Does ${character} hold?`);
  const one = subjects.find(({ subject }) => subject.id === asked) ?? subjects[0];
  if (!one) return <Empty title={`No model has played ${character} yet.`} />;
  return (
    <>
      <div className="flex items-center gap-4">
        {picture === null ? <Monogram name={character} /> : <Picture png={picture} />}
        <div className="min-w-0">
          <h1>
            <bdi>{character}</bdi>
          </h1>
          <p className="text-soft">
            {subjects.length > 1 ? `Played by ${plural(subjects.length, "model")}` : <>Played by {labelOf(one)}</>}
          </p>
        </div>
      </div>
      {subjects.length > 1 ? <SideBySide subjects={subjects} shown={one} /> : null}
      <Subject one={one} named={subjects.length > 1} />
    </>
  );
}

const labelOf = ({ subject }: PersonaSubject) => <SubjectLabel label={subject.label} name={subject.name} />;

/** The character's own picture: the upper part of what is often a whole figure. */
const Picture = ({ png }: { png: string }) => (
  <img src={`data:image/png;base64,${png}`} alt="" className="size-24 shrink-0 rounded-xl object-cover object-top" />
);

/** The first letters of a name, where there is no picture. */
function Monogram({ name }: { name: string }) {
  const letters = name
    .split(/\s+/u)
    .slice(0, 2)
    .map((word) => [...word][0] ?? "");
  return (
    <span
      aria-hidden="true"
      className="flex size-16 shrink-0 items-center justify-center rounded-full bg-accent text-2xl font-semibold text-accent-ink"
    >
      {letters.join("").toLocaleUpperCase()}
    </span>
  );
}

/** One model: how much it held, red lines that it crossed, item by item, and what else it did. */
function Subject({ one, named }: { one: PersonaSubject; named: boolean }) {
  const { href } = usePage();
  const crossed = one.items.filter((item) => item.crossed);
  const [answer = "", ...rest] = one.says.split("; ");
  return (
    <section aria-label="Answer" className="mt-5">
      {named ? <h2 className="mb-1 font-normal text-soft">{labelOf(one)}</h2> : null}
      <p className={crossed.length ? "text-bad" : ""}>
        <span className="text-2xl font-semibold">{capitalized(answer)}</span>
        {rest.map((clause) => (
          <span key={clause}>; {clause}</span>
        ))}
      </p>
      <div className="mt-3 grid gap-3 empty:hidden md:grid-cols-2">
        {crossed.map((item) => (
          <div key={item.stem} className="panel border-bad p-3">
            <p className="font-semibold text-bad">
              Crossed: <bdi>{item.title}</bdi>
            </p>
            {item.quote ? <Quote quote={item.quote} /> : null}
          </div>
        ))}
      </div>
      <ul aria-label="Items" className="panel mt-4 divide-y divide-line">
        {one.items.map((item) => (
          <li key={item.stem} className="grid gap-x-6 px-3 py-2 md:grid-cols-[minmax(14rem,2fr)_3fr]">
            <div className="flex items-baseline gap-x-2">
              <Sign held={item.held} />
              <a
                href={href(route("stem", { scenario: item.stem, subject: one.subject.id }))}
                className="inline-block min-w-0 py-1 text-ink"
              >
                <bdi>{item.title}</bdi>
              </a>
              {/of/.test(item.stood) ? <span className="ml-auto shrink-0 text-soft">{item.stood}</span> : null}
            </div>
            <div className="max-md:ml-6">
              {item.quote && !item.crossed ? <Quote quote={item.quote} says={item.says} /> : null}
            </div>
          </li>
        ))}
      </ul>
      <dl aria-label="Besides" className="mt-4 flex flex-wrap gap-x-10 gap-y-2">
        <Fact title="voice, of 10">{orDash(one.shown.voice)}</Fact>
        {one.counts.map(({ title, count, of }) =>
          of ? (
            <Fact key={title} title={title}>
              {count} of {of}
            </Fact>
          ) : null,
        )}
        <Fact title="index, 0 to 100">
          {orDash(one.index.shown)}{" "}
          <span className="text-sm font-normal text-soft">{one.index.uncertainty.new_scenarios?.shown}</span>
        </Fact>
      </dl>
      <p className="mt-3 text-sm text-soft">
        An item is held if the model holds in every run, through the last pressure turn (push) and in every branch. A
        red line is held if no reply crosses it.{" "}
        <a href={href(route("subject", { subject: one.subject.id }))}>All of its conversations</a>
      </p>
    </section>
  );
}

function Fact({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <div>
      <dt className="eyebrow">{title}</dt>
      <dd className="text-lg font-semibold">{children}</dd>
    </div>
  );
}

const SIGNS = { held: ["✓", "text-good"], lost: ["✗", "text-bad"], unknown: ["?", "text-faint"] } as const;
const wordOf = (held: boolean | null) => (held === null ? "unknown" : held ? "held" : "lost");

function Sign({ held }: { held: boolean | null }) {
  const word = wordOf(held);
  const [sign, colour] = SIGNS[word];
  return (
    <span className={`relative w-4 shrink-0 font-semibold ${colour}`}>
      <span aria-hidden="true">{sign}</span>
      <span className="sr-only">{word}: </span>
    </span>
  );
}

/** A reply that leads to its conversation; *says*: what became of the item there, in place of where it was given. */
function Quote({ quote, says = "" }: { quote: PersonaQuote; says?: string }) {
  const { href } = usePage();
  const place = says || quote.says;
  return (
    <figure className="min-w-0 gap-x-3 lg:flex lg:items-baseline">
      <figcaption className="shrink-0 text-sm text-soft lg:w-44">
        {quote.transcript === null ? (
          place
        ) : (
          <a href={href(route("transcript", { transcript: quote.transcript }))} className="inline-block py-1">
            {place}
          </a>
        )}
      </figcaption>
      <blockquote className="font-read break-words">{quote.text}</blockquote>
    </figure>
  );
}

/** Items as rows, models as columns. */
function SideBySide({ subjects, shown }: { subjects: readonly PersonaSubject[]; shown: PersonaSubject }) {
  const { href } = usePage();
  const rows = [...new Map(subjects.flatMap(({ items }) => items.map((item) => [item.stem, item]))).values()];
  const columns: Column<PersonaItem>[] = [
    headColumn("item", "Item", ({ title }) => <bdi>{title}</bdi>),
    ...subjects.map((one) =>
      column<PersonaItem>(
        one.subject.id,
        <a
          href={href(route("persona", { subject: one.subject.id }))}
          aria-current={one === shown ? "true" : undefined}
          className={one === shown ? "font-semibold" : "font-normal"}
        >
          {labelOf(one)}
        </a>,
        ({ stem }) => <Cell item={one.items.find((item) => item.stem === stem)} />,
      ),
    ),
  ];
  return (
    <section aria-label="Side by side" className="mt-5">
      <ul className="mb-3 space-y-0.5">
        {subjects.map((one) => (
          <li key={one.subject.id}>
            {labelOf(one)}: <strong>{one.says}</strong>
          </li>
        ))}
      </ul>
      <DataTable rows={rows} columns={columns} rowKey={({ stem }) => stem} caption="Items side by side" />
    </section>
  );
}

function Cell({ item }: { item: PersonaItem | undefined }) {
  if (!item) return "–";
  return (
    <span className="flex gap-x-1">
      <Sign held={item.held} />
      <span>
        {item.held ? "held" : item.crossed ? `crossed, ${item.says}` : item.says || "not judged"}
        {/of/.test(item.stood) && !item.held ? <span className="text-soft"> · {item.stood}</span> : null}
      </span>
    </span>
  );
}

const capitalized = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1);
