import { endpoints, useApi } from "../../api/queries";
import type { Board, ByVersions, Versions as Answer } from "../../api/types";
import { csvAndJson, Downloads } from "../../components/downloads";
import { SelectField } from "../../components/fields";
import { Await, Empty } from "../../components/status";
import { usePage } from "../../hooks/usePage";
import { humanize, plural } from "../../lib/format";
import { route, type AddressOf } from "../../routes";
import { Comparison, type Side } from "./Comparison";

interface Props {
  board: Board;
  address: AddressOf<"compare">;
}

/** This version of the protocol beside another one of which a system prompt was edited. */
export function Versions({ board, address }: Props) {
  const { navigate } = usePage();
  const { versions } = board;
  const chosen = versions.find(({ protocol }) => protocol === address.version) ?? versions[0];
  if (!chosen)
    return (
      <Empty title="No other version to compare with.">
        It needs another version of the protocol in this store, with another system prompt in this configuration, played
        by some of the same models and judged by this judge.
      </Empty>
    );
  return (
    <section className="mt-2" aria-label="Two versions of a prompt">
      <p className="mb-2 max-w-3xl text-soft">
        Another version of the protocol, and the one of this leaderboard. Both met the same scenarios; only what both
        ask and score in the same words is compared.
      </p>
      <SelectField
        label="Other version"
        className="block max-w-xl"
        selectClass="w-full"
        value={chosen.protocol}
        options={versions.map(({ protocol, name, hash, subjects }) => ({
          value: protocol,
          title: `${name} ${hash} (${plural(subjects, "model")})`,
        }))}
        onChange={(version) => navigate(route("compare", { view: "versions", version, subject: address.subject }))}
      />
      <WithVersion key={chosen.protocol} board={board} address={address} protocol={chosen.protocol} />
    </section>
  );
}

function WithVersion({ board, address, protocol }: Props & { protocol: string }) {
  const { navigate } = usePage();
  const path = endpoints.versions(board.board.id, protocol);
  const versions = useApi(path);
  return (
    <Await query={versions} what="the comparison">
      {(value) => {
        const compared = value.subjects.find(({ subject }) => subject === address.subject) ?? value.subjects[0];
        return (
          <>
            <Prompts value={value} />
            <SelectField
              label="Model"
              className="mt-4 block max-w-xl"
              selectClass="w-full"
              value={compared?.subject ?? ""}
              options={value.subjects.map(({ subject, label }) => ({ value: subject, title: label }))}
              onChange={(subject) =>
                navigate(route("compare", { view: "versions", version: address.version, subject }))
              }
            />
            <div className="mt-4">
              <Downloads files={csvAndJson(path)} citation={board.citation} />
            </div>
            {compared ? <OfSubject board={board} value={value} compared={compared} address={address} /> : null}
          </>
        );
      }}
    </Await>
  );
}

function Prompts({ value }: { value: Answer }) {
  return (
    <div className="mt-4">
      <h2>What was edited</h2>
      {value.prompts.map(({ variant, lines }) => (
        <div key={variant} className="mt-2">
          <h3>System prompt: {humanize(variant)}</h3>
          <ul className="prose-text mt-1 max-w-3xl">
            {lines.map(({ sign, text }, index) => (
              <li key={index} className={sign === "" ? "text-soft" : sign === "-" ? "text-soft" : "font-medium"}>
                {sign === "-" ? <span className="sr-only">before: </span> : null}
                {sign === "+" ? <span className="sr-only">now: </span> : null}
                <span aria-hidden="true">{sign === "-" ? "−" : sign} </span>
                <bdi>{text}</bdi>
              </li>
            ))}
          </ul>
        </div>
      ))}
      {value.left_out.length ? (
        <p className="mt-2 text-sm text-soft">
          {value.left_out.map(humanize).join(", ")}: the same in both, and left out.
        </p>
      ) : null}
      {value.unlike ? <p className="mt-2 text-sm text-warn">{value.unlike}</p> : null}
    </div>
  );
}

interface OfSubjectProps extends Props {
  value: Answer;
  compared: ByVersions;
}

function OfSubject({ board, value, compared, address }: OfSubjectProps) {
  const { subject, apart } = compared;
  const configuration = value.configurations.length === 1 ? (value.configurations[0] ?? null) : null;
  const side = (name: string, on: string, values: Side["values"], shown: Side["shown"]): Side => ({
    label: name,
    name,
    subject,
    board: on,
    configuration,
    values,
    shown,
  });
  const [before, now] = value.names;
  return (
    <>
      <p className="mt-4 font-medium">{compared.statement}</p>
      {compared.settles ? <p className="text-soft">{compared.settles}</p> : null}
      <Comparison
        board={board}
        compared={value.compared}
        sides={[
          side(before ?? "", value.before, compared.before, compared.before_shown),
          side(now ?? "", value.board, compared.now, compared.now_shown),
        ]}
        differences={apart}
        less={0}
        openRow={address.scenario}
        kind={address.interval}
      />
    </>
  );
}
