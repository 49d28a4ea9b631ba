import { endpoints, useApi } from "../../api/queries";
import type { Board, Subject } from "../../api/types";
import { BoardChooser } from "../../components/BoardChooser";
import { Disclosure, Section } from "../../components/sections";
import { csvAndJson, Downloads } from "../../components/downloads";
import { Await } from "../../components/status";
import { useDocumentTitle, usePage } from "../../hooks/usePage";
import { plural } from "../../lib/format";
import { route, type AddressOf } from "../../routes";
import { Branches } from "./Branches";
import { Facts } from "./Facts";
import { HeatMap } from "./HeatMap";
import { Names } from "./Names";
import { OtherConfigurations } from "./OtherConfigurations";
import { Runs } from "./Runs";
import { Scores } from "./Scores";
import { Transcripts } from "./Transcripts";
import { Button } from "../../components/fields";

const NOT_ON_BOARD =
  "This subject may not be on the ranking chosen above; choose another one, or go back to the leaderboard.";

/** One subject on one board. */
export default function SubjectPage({ address }: { address: AddressOf<"subject"> }) {
  const { board } = usePage();
  const ranking = useApi(endpoints.board(board.id));
  const subject = useApi(endpoints.subject(board.id, address.subject));
  return (
    <>
      {subject.error && !subject.data ? <BoardChooser /> : null}
      <Await query={subject} what="the subject" explain={() => ({ next: NOT_ON_BOARD })}>
        {(value) => (
          <Await query={ranking} what="the subject">
            {(shownOn) => <Details subject={value} board={shownOn} address={address} />}
          </Await>
        )}
      </Await>
    </>
  );
}

interface Props {
  subject: Subject;
  board: Board;
  address: AddressOf<"subject">;
}

function Details({ subject, board, address }: Props) {
  const { href, update } = usePage();
  const { id, label } = subject.row.subject;
  useDocumentTitle(label);
  const others = address.picked.filter((one) => one !== id);
  const picked = address.picked.includes(id);
  const narrowed = address.run !== null || address.scenario !== "";
  const variants = [...board.efforts, ...board.providers].flatMap((one) => one.variants);
  const hasVariants = variants.some((variant) => board.ids[variant.label] === id);
  return (
    <>
      <p className="eyebrow">
        <a href={href(route("leaderboard"))}>Leaderboard</a> / subject
      </p>
      <div className="mb-3 flex flex-wrap items-start justify-between gap-x-6 gap-y-2">
        <h1 className="label">
          <bdi>{label}</bdi>
        </h1>
        <div className="no-print flex gap-2">
          <Button aria-pressed={picked} onClick={() => update({ picked: picked ? others : [...others, id] })}>
            {picked ? "Picked" : "Pick for comparison"}
          </Button>
          <a className="button" href={href(route("compare"), { picked: [id, ...others].slice(0, 2) })}>
            Compare
          </a>
        </div>
      </div>
      <BoardChooser />
      <div className="mt-3">
        <Downloads files={csvAndJson(endpoints.subject(board.board.id, id))} citation={board.citation} />
      </div>

      <div className="mt-5 grid gap-8 lg:grid-cols-[minmax(0,3fr)_minmax(0,2fr)]">
        <Scores subject={subject} board={board} />
        <Facts subject={subject} />
      </div>
      {subject.row.branches ? (
        <Section
          title="Branch by branch"
          description={
            subject.row.branches.views.value === null
              ? "What each kind of conversation that goes on from an opening is worth."
              : "Each stem's position under pressure, after two corrections, asked again, and after a favour."
          }
        >
          <Branches subject={subject} branches={subject.row.branches} />
        </Section>
      ) : null}
      <Section
        title="Scenario by scenario"
        description={`Share of each scenario's points, run by run. ${subject.stems.length ? "Every cell is a stem with its conversations" : "Every cell is a conversation"}: open it. A heading of a row or a column lists only its conversations, below.`}
      >
        <HeatMap subject={subject} board={board} address={address} />
        <Disclosure
          title={narrowed ? "Conversations" : `All ${plural(subject.transcripts.length, "conversation")}`}
          className="mt-3"
          open={narrowed}
        >
          <Transcripts subject={subject} board={board} address={address} />
        </Disclosure>
      </Section>
      <Section title="Run by run">
        <Runs subject={subject} board={board} address={address} />
      </Section>
      {subject.names.length ? (
        <Section
          title="Names that it chose"
          description="When it was free to choose, and after the human asked for others."
        >
          <Names names={subject.names} titles={new Map(board.scenarios.map(({ id, title }) => [id, title]))} />
        </Section>
      ) : null}
      {subject.elsewhere.length ? (
        <Section
          title="In other configurations"
          description="The same subject under another prompt or delivery, by the same judge. Difference: to the index above, with its 95% rerun CI."
        >
          <OtherConfigurations subject={subject} />
        </Section>
      ) : null}
      {hasVariants ? (
        <Section title="Under other settings" description="The same model with one setting changed.">
          <a href={href(route("compare", { view: "settings" }))}>All comparisons of settings</a>
        </Section>
      ) : null}
    </>
  );
}
