import { useMemo, useState, type ReactNode } from "react";
import { endpoints, useApi } from "../../api/queries";
import type { Dispute, Flagged, Judges, JudgePanel, Validation } from "../../api/types";
import { RankingHead } from "../../components/BoardChooser";
import { csvAndJson, Downloads } from "../../components/downloads";
import { Section } from "../../components/sections";
import { Button, SelectField } from "../../components/fields";
import { Await, Empty } from "../../components/status";
import { usePage } from "../../hooks/usePage";
import { count, humanize, letterName } from "../../lib/format";
import { route, type AddressOf } from "../../routes";
import { AgreementTable, JudgesTable, SelfPreferenceTable, SubjectsTable, type PanelProps } from "./tables";
import { Label } from "../../components/labels";

/** How far the judges agree, whom they favour, and where they disagree. */
export default function JudgesPage({ address }: { address: AddressOf<"judges"> }) {
  const { board, href } = usePage();
  const judges = useApi(endpoints.judges(board.protocol));
  return (
    <>
      <RankingHead title="Judges">
        Every number depends on the judge that gave the scores. This page shows how far the judges of the same
        conversations agree; <a href={href(route("exam"))}>the exam</a> shows how well each of them scores conversations
        whose correct scores are known.
      </RankingHead>
      <Await query={judges} what="the judges; the first time this may take some seconds">
        {(value) => <Panels judges={value} address={address} />}
      </Await>
    </>
  );
}

function Panels({ judges, address }: { judges: Judges; address: AddressOf<"judges"> }) {
  const { update, board } = usePage();
  const named = judges.panels.map((panel) => ({ name: panel.found.configurations.join(" + "), panel }));
  const own = board.configurations.join(" + ");
  const shown =
    named.find((panel) => panel.name === address.view) ?? named.find((panel) => panel.name === own) ?? named[0];
  if (!shown) return <Empty title="Nothing has been judged yet.">`aib judge` has a judge score what was played.</Empty>;
  return (
    <div className="mt-4">
      <div className="flex flex-wrap items-end justify-between gap-4">
        {named.length > 1 ? (
          <SelectField
            label="Judged in"
            value={shown.name}
            options={named.map(({ name }) => ({ value: name, title: humanize(name) }))}
            onChange={(view) => update({ view })}
          />
        ) : (
          <p className="text-soft">Judged in {humanize(shown.name)}</p>
        )}
        <Downloads files={csvAndJson(endpoints.judges(judges.protocol.id))} />
      </div>
      <PanelDetails key={shown.name} panel={shown.panel.found} ids={shown.panel} />
    </div>
  );
}

function PanelDetails({ panel, ids }: { panel: Validation; ids: JudgePanel }) {
  const letters = useMemo(() => new Map(panel.judges.map((judge, index) => [judge.label, letterName(index)])), [panel]);
  const props: PanelProps = { panel, ids, letterOf: (label) => letters.get(label) ?? "?" };
  return (
    <>
      <JudgesTable {...props} />
      {panel.judges.length < 2 ? (
        <Empty title="There is only one judge.">
          <code>aib judge -j ANOTHER</code> has another one score the same conversations; the scores of both are kept.
        </Empty>
      ) : (
        <>
          <SubjectsTable {...props} />
          <AgreementTable {...props} />
          <SelfPreferenceTable {...props} />
          <Disputes {...props} />
        </>
      )}
      {panel.flagged.length ? <FlaggedVerdicts {...props} /> : null}
    </>
  );
}

function Disputes({ panel, ids, letterOf }: PanelProps) {
  return (
    <Section
      title="Where they disagree most"
      description={`${count(ids.disputed)} conversations are not scored alike; by the mean distance of their scores.`}
    >
      <ShortList items={panel.disputes} columns="md:grid-cols-[minmax(0,1fr)_minmax(0,1.2fr)_4rem]">
        {(dispute, index) => (
          <>
            <ConversationLink place={dispute} transcript={ids.disputes[index]} />
            <span className="text-sm text-soft">
              {Object.entries(dispute.marks)
                .map(([mark, given]) => {
                  const levels = panel.marks.find((about) => about.mark === mark)?.levels ?? [];
                  const named = Object.entries(given).flatMap(([judge, value]) =>
                    value === null
                      ? []
                      : [`${letterOf(judge)} ${levels[value] ?? dispute.shown.marks[mark]?.[judge] ?? ""}`],
                  );
                  return `${humanize(mark)}: ${named.join(" ")}`;
                })
                .join(" · ")}
            </span>
            <span className="num" title="mean over scores of the highest minus the lowest, as a share of the scale">
              {dispute.shown.spread}
            </span>
          </>
        )}
      </ShortList>
    </Section>
  );
}

function FlaggedVerdicts({ panel, ids, letterOf }: PanelProps) {
  return (
    <Section
      title="Judgements to read"
      description={`${count(ids.flagged_in_all)} in all. A flag changes no score: the reasoning seems to contradict it, or it is far from the embedded judge's.`}
    >
      <ShortList items={panel.flagged} columns="md:grid-cols-[minmax(0,1fr)_2rem_minmax(0,1.2fr)]">
        {(verdict, index) => (
          <>
            <ConversationLink place={verdict} transcript={ids.flagged[index]} />
            <span title={verdict.judge} className="font-semibold text-accent">
              {letterOf(verdict.judge)}
            </span>
            <span className="text-sm text-warn">{verdict.flags.map((flag) => flag.why).join("; ")}</span>
          </>
        )}
      </ShortList>
    </Section>
  );
}

const FEW = 10;

interface ShortListProps<T> {
  items: readonly T[];
  columns: string; // classes
  children: (item: T, index: number) => ReactNode;
}

/** The first items, and a button that shows all of them. */
function ShortList<T>({ items, columns, children }: ShortListProps<T>) {
  const [all, setAll] = useState(false);
  return (
    <>
      <ul className="border-t border-line">
        {(all ? items : items.slice(0, FEW)).map((item, index) => (
          <li key={index} className={`grid gap-x-4 border-b border-line py-1.5 ${columns}`}>
            {children(item, index)}
          </li>
        ))}
      </ul>
      {!all && items.length > FEW ? (
        <Button className="mt-2" onClick={() => setAll(true)}>
          Show {items.length}
        </Button>
      ) : null}
    </>
  );
}

function ConversationLink({ place, transcript }: { place: Dispute | Flagged; transcript: string | null | undefined }) {
  const { href } = usePage();
  const name = (
    <>
      <Label text={place.subject} />
      <span className="eyebrow">
        {" "}
        {place.title}, run {place.run}
      </span>
    </>
  );
  if (!transcript) return <span>{name}</span>;
  return <a href={href(route("transcript", { transcript }))}>{name}</a>;
}
