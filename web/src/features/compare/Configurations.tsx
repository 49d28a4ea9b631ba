import { endpoints, useApi } from "../../api/queries";
import type { Board, SubjectSettings, ComparedWithItself } from "../../api/types";
import { csvAndJson, Downloads } from "../../components/downloads";
import { SelectField } from "../../components/fields";
import { Await, Empty } from "../../components/status";
import { usePage } from "../../hooks/usePage";
import { humanize } from "../../lib/format";
import { route, type AddressOf } from "../../routes";
import { Comparison, type Side } from "./Comparison";
import { PairChooser } from "./PairChooser";

interface Props {
  board: Board;
  address: AddressOf<"compare">;
}

/** One subject in two of its configurations. */
export function Configurations({ board, address }: Props) {
  const { navigate } = usePage();
  const subject = board.in_several.find((one) => one.subject === address.subject);
  return (
    <section className="mt-2" aria-label="One subject in two configurations">
      <h2>One subject in two configurations</h2>
      <p className="mb-2 max-w-3xl text-sm text-soft">
        Another system prompt, or the same words delivered differently. The runs of two configurations are independent,
        and the intervals are for the same test given again; how much of a difference would be found on other scenarios
        has not been measured.
      </p>
      <SelectField
        label="Subject"
        className="mb-3 block max-w-xl"
        selectClass="w-full"
        value={subject?.subject ?? ""}
        options={[
          { value: "", title: "choose …" },
          ...board.in_several.map((one) => ({ value: one.subject, title: one.label })),
        ]}
        onChange={(id) => navigate(route("compare", { view: "settings", subject: id }))}
      />
      {subject ? (
        <TwoConfigurations board={board} subject={subject} address={address} />
      ) : address.subject ? (
        <Empty title="It is in one configuration only.">
          By this judge, these rules and weights it has no marks in a second one; choose another subject.
        </Empty>
      ) : null}
    </section>
  );
}

function TwoConfigurations({ board, subject, address }: Props & { subject: ComparedWithItself }) {
  const { navigate, href } = usePage();
  const [first, second] = configurationPair(
    subject.configurations,
    board.board.configurations,
    address.first,
    address.second,
  );
  const path = endpoints.settings(board.board.series, subject.subject);
  const configurations = useApi(path);
  const choose = (one: string, other: string) =>
    navigate(route("compare", { view: "settings", subject: subject.subject, first: one, second: other }));
  const options = subject.configurations.map((configuration) => ({
    value: configuration,
    title: humanize(configuration),
  }));
  return (
    <>
      <PairChooser first={first} second={second} options={options} onChoose={choose} />
      <Await query={configurations} what="the comparison">
        {(value) => {
          const pair = [first, second].map((name) =>
            value.configurations.find(({ configuration }) => configuration === name),
          );
          const [one, other] = pair;
          const differences = one?.others.find(({ configuration }) => configuration === second)?.apart;
          const side = ({
            configuration,
            board: on,
            values,
            shown,
          }: SubjectSettings["configurations"][number]): Side => ({
            label: humanize(configuration),
            subject: value.subject,
            board: on,
            configuration,
            values,
            shown,
          });
          return (
            <>
              <div className="mt-4">
                <Downloads files={csvAndJson(path)} citation={board.citation} />
              </div>
              {one && other && differences ? (
                <Comparison
                  board={board}
                  compared={value.compared}
                  sides={[side(one), side(other)]}
                  differences={differences}
                  openRow={address.scenario}
                  kind="rerun"
                />
              ) : (
                <Empty title="These two cannot be compared.">Choose two others.</Empty>
              )}
              <p className="mt-6 flex flex-wrap gap-x-5 text-sm">
                {pair.map((found, index) =>
                  found ? (
                    <a key={index} href={href(route("subject", { subject: subject.subject }), { board: found.board })}>
                      All of {index ? "B" : "A"}
                    </a>
                  ) : null,
                )}
              </p>
            </>
          );
        }}
      </Await>
    </>
  );
}

/**
 * The two of *all* configurations that are compared: *first* and *second*, as far as they exist and differ; else one of
 * *shown*, the ranking that is open, and the first of the others. *all* has two or more.
 */
export function configurationPair(
  all: readonly string[],
  shown: readonly string[],
  first: string,
  second: string,
): readonly [string, string] {
  const asked = all.includes(second) && second !== first ? second : "";
  const free = all.filter((one) => one !== asked);
  const one = free.find((name) => name === first) ?? free.find((name) => shown.includes(name)) ?? free[0] ?? "";
  return [one, asked || (all.find((name) => name !== one) ?? "")];
}
