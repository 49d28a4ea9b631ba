import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { postJson } from "../../api/client";
import { endpoints, useApi } from "../../api/queries";
import type { LabelCase, Labelling, MarkScale, LabelAgreement } from "../../api/types";
import { Disclosure } from "../../components/sections";
import { MessageText } from "../../components/MessageText";
import { Await, Empty } from "../../components/status";
import { useDocumentTitle, usePage } from "../../hooks/usePage";
import { useKeyboardShortcuts, type Shortcut } from "../../hooks/useKeyboardShortcuts";
import { count } from "../../lib/format";
import { Label } from "../../components/labels";
import { Button } from "../../components/fields";
import { DataTable, numberColumn, column, type Column } from "../../components/tables";
import { route } from "../../routes";

type Change = { to: "marks"; marks: Record<string, number>; note: string } | { to: "skip" } | { to: "undo" };

/** One conversation at a time, scored blind by the person whom `aib view --label` names. */
export default function LabelPage() {
  const { index } = usePage();
  useDocumentTitle("Label");
  if (index.offer.label === null)
    return <Empty title="No conversations are scored here.">`aib view --label NAME` lets you do that.</Empty>;
  return <Desk />;
}

function Desk() {
  const state = useApi(endpoints.labelling);
  const client = useQueryClient();
  const change = useMutation({
    mutationFn: ({ to, ...body }: Change & { case?: string }) =>
      postJson(`api/label/${to}`, body) as Promise<Labelling>,
    onSuccess: (after) => {
      client.setQueryData([endpoints.labelling], after);
      window.scrollTo(0, 0);
    },
  });
  return (
    <Await query={state} what="what is to be scored">
      {(now) => (
        <>
          <div className="flex flex-wrap items-baseline justify-between gap-x-6 gap-y-1">
            <h1>Label</h1>
            <p role="status" className="text-soft">
              <Label text={now.person} />: {count(now.marked)} of {count(now.planned)} conversations of {now.protocol}{" "}
              scored{now.skipped ? `, ${count(now.skipped)} skipped for now` : ""}
            </p>
          </div>
          {change.error ? (
            <p role="alert" className="panel my-3 border-warn p-3 text-warn">
              {change.error.message} {change.error.next}
            </p>
          ) : null}
          {now.case ? (
            <Case
              key={`${now.case.id} ${now.marked}`}
              shown={now.case}
              undo={now.undo}
              busy={change.isPending}
              send={(sent) => change.mutate(sent.to === "undo" ? sent : { ...sent, case: now.case?.id ?? "" })}
            />
          ) : (
            <div className="my-6">
              <Empty title={now.planned ? "All conversations are scored." : "There is nothing to score."}>
                {now.planned
                  ? "Your scores are shown next to those of the other judges."
                  : "`aib run` plays conversations."}
              </Empty>
              {now.undo ? <Button onClick={() => change.mutate({ to: "undo" })}>Undo the last one</Button> : null}
            </div>
          )}
          <Agreement person={now.person} />
        </>
      )}
    </Await>
  );
}

interface CaseProps {
  shown: LabelCase;
  undo: boolean;
  busy: boolean;
  send: (change: Change) => void;
}

function Case({ shown, undo, busy, send }: CaseProps) {
  const [marks, setMarks] = useState<Record<string, number>>({ ...shown.marks });
  const [note, setNote] = useState(shown.note);
  const open = shown.scales.find((scale) => marks[scale.name] === undefined)?.name ?? "";
  const [chosen, setChosen] = useState("");
  const current = chosen || open || (shown.scales.at(-1)?.name ?? "");
  const whole = shown.scales.every((scale) => marks[scale.name] !== undefined);
  const shortcuts = useMemo<Shortcut[]>(() => {
    const scale = shown.scales.find((scale) => scale.name === current);
    const set = (value: number) => {
      if (!scale) return;
      setMarks((before) => ({ ...before, [scale.name]: value }));
      setChosen("");
    };
    const values = scale ? optionOf(scale) : [];
    return [
      ...values.flatMap(({ key, value, title }) =>
        key ? [{ key, description: `${scale?.title ?? ""}: ${title}`, action: () => set(value) }] : [],
      ),
      {
        key: "Enter",
        description: "Keep the scores",
        action: () => whole && !busy && send({ to: "marks", marks, note }),
      },
      { key: "u", description: "Undo the last conversation", action: () => undo && !busy && send({ to: "undo" }) },
      { key: "s", description: "Skip for now", action: () => !busy && send({ to: "skip" }) },
    ];
  }, [shown, current, whole, busy, marks, note, undo, send]);
  useKeyboardShortcuts(shortcuts);
  return (
    <div className="mt-4 grid gap-x-8 gap-y-6 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
      <section aria-label="Conversation">
        <p className="mb-3 text-sm text-soft">{shown.about}</p>
        {shown.lines.map((line, place) => (
          <div key={place} className="mb-4">
            <h2 className="eyebrow">
              {line.who}
              {line.reply ? ` (its reply “${line.reply}”)` : ""}
            </h2>
            <div className={`prose-text panel p-3 ${line.reply ? "border-accent" : ""}`}>
              <MessageText text={line.text} />
            </div>
          </div>
        ))}
      </section>
      <section
        aria-label="Scores and rubric"
        className="lg:sticky lg:top-3 lg:max-h-[calc(100vh-1.5rem)] lg:self-start lg:overflow-y-auto scroll-area"
        tabIndex={0}
      >
        {shown.scales.map((scale) => (
          <MarkButtons
            key={scale.name}
            scale={scale}
            value={marks[scale.name] ?? null}
            current={scale.name === current}
            onChoose={(value) => {
              setMarks((before) => ({ ...before, [scale.name]: value }));
              setChosen("");
            }}
            onOpen={() => setChosen(scale.name)}
          />
        ))}
        <label className="block">
          <span className="eyebrow block">What decides it, in a few words</span>
          <textarea
            className="field w-full"
            rows={2}
            maxLength={4000}
            value={note}
            onChange={(event) => setNote(event.target.value)}
          />
        </label>
        <div className="my-3 flex flex-wrap gap-2">
          <Button className="font-medium" disabled={!whole || busy} onClick={() => send({ to: "marks", marks, note })}>
            Keep (Enter)
          </Button>
          <Button disabled={!undo || busy} onClick={() => send({ to: "undo" })}>
            Undo (u)
          </Button>
          <Button disabled={busy} onClick={() => send({ to: "skip" })}>
            Skip (s)
          </Button>
        </div>
        <h2>Rubric</h2>
        {shown.rubrics.map((rubric) => (
          <div key={rubric} className="prose-text mt-2 text-[0.95rem]">
            <MessageText text={rubric} />
          </div>
        ))}
        <Disclosure title="What every judge is told" className="mt-3">
          <div className="prose-text text-[0.95rem]">
            <MessageText text={shown.instructions} />
          </div>
        </Disclosure>
      </section>
    </div>
  );
}

interface Props {
  scale: MarkScale;
  value: number | null;
  current: boolean; // keys set this one
  onChoose: (value: number) => void;
  onOpen: () => void;
}

/** One score and its scale as buttons. */
function MarkButtons({ scale, value, current, onChoose, onOpen }: Props) {
  return (
    <fieldset className={`mb-3 rounded-md border p-2 ${current ? "border-accent" : "border-line"}`} onFocus={onOpen}>
      <legend className="px-1 font-medium">
        {scale.title}
        {current ? <span className="eyebrow"> (keys set this)</span> : null}
      </legend>
      <p className="mb-1 text-sm text-soft">{scale.asks}</p>
      <div className="flex flex-wrap gap-1">
        {optionOf(scale).map((option) => (
          <button
            key={option.value}
            type="button"
            className={`button min-h-9 min-w-9 justify-center px-2 ${option.value === value ? "bg-accent text-paper" : ""}`}
            aria-pressed={option.value === value}
            title={option.key && option.key !== option.title ? `key ${option.key}` : undefined}
            onClick={(event) => {
              // by a pointer (a key's click has no detail): Enter then keeps the marks, and is not this button's
              if (event.detail) event.currentTarget.blur();
              onChoose(option.value);
            }}
          >
            {option.title}
            {option.key && option.key !== option.title ? <kbd aria-hidden="true">{option.key}</kbd> : null}
          </button>
        ))}
      </div>
    </fieldset>
  );
}

interface MarkOption {
  value: number;
  title: string;
  key: string; // that chooses it; "" for none
}

/** Everything that a person can choose on *scale*: yes and no, its levels, or its whole numbers. */
export function optionOf(scale: Pick<MarkScale, "kind" | "levels" | "low" | "high">): MarkOption[] {
  if (scale.kind === "yes_no")
    return [
      { value: 0, title: "no", key: "n" },
      { value: 1, title: "yes", key: "y" },
    ];
  if (scale.levels.length) return scale.levels.map((title, value) => ({ value, title, key: keyOf(value) }));
  const low = Math.ceil(scale.low);
  const length = Math.floor(scale.high) - low + 1;
  return Array.from({ length }, (_, i) => ({ value: low + i, title: String(low + i), key: keyOf(low + i) }));
}

/** 0-9 are themselves; x is ten. */
function keyOf(value: number): string {
  return value >= 0 && value < 10 ? String(value) : value === 10 ? "x" : "";
}

type Pair = LabelAgreement["pairs"][number];

/** How far the judges agree with *person*; not shown before it is asked for, so that nobody scores by it. */
function Agreement({ person }: { person: string }) {
  const [asked, setAsked] = useState(false);
  if (!asked)
    return (
      <Button className="mt-6" onClick={() => setAsked(true)}>
        How far do the judges agree with me?
      </Button>
    );
  return <Pairs person={person} />;
}

function Pairs({ person }: { person: string }) {
  const { href } = usePage();
  const agreement = useApi(endpoints.labelAgreement);
  const columns: Column<Pair>[] = [
    column("judge", "Judge", (row) => <bdi className="label">{row.judges.find((judge) => judge !== person)}</bdi>, {
      rowHeader: true,
    }),
    numberColumn("conversations", "Scored by both", (row) => row.conversations),
    numberColumn("kappa", "κ", (row) => row.shown.kappa ?? "–", {
      hint: "mean over the scores; from ten conversations on",
    }),
  ];
  return (
    <section aria-label="Agreement" className="mt-6">
      <h2>Agreement with the judges</h2>
      <p className="mb-2 text-soft">
        By the scores that are stored; the last one is stored when the next is kept, or the viewer ends. More is on the
        page of the <a href={href(route("judges"))}>judges</a>.
      </p>
      <Await query={agreement} what="the judges">
        {({ pairs }) =>
          pairs.length ? (
            <DataTable
              rows={pairs}
              columns={columns}
              rowKey={(row) => row.judges.join(" ")}
              caption="Agreement"
              className=""
            />
          ) : (
            <p>Nothing that you have scored is stored yet, or no other judge has scored it.</p>
          )
        }
      </Await>
    </section>
  );
}
