import { endpoints } from "../../api/endpoints";
import { useApi } from "../../api/queries";
import type { Board, SubjectSettings, ComparedWithItself } from "../../api/types";
import { csvAndJson, Downloads } from "../../components/Downloads";
import { SelectField } from "../../components/SelectField";
import { Await, Empty } from "../../components/status";
import { usePage } from "../../hooks/usePage";
import { humanize } from "../../lib/format";
import { route, type AddressOf } from "../../routes";
import { Comparison, type Side } from "./Comparison";
import { configurationPair } from "./configurationPair";
import { SwapButton } from "./SwapButton";

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
        className="block max-w-xl"
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
  const options = subject.configurations.map((one) => ({ value: one, title: humanize(one) }));
  // choosing what the other side shows exchanges the two, so that any pair is one step away
  return (
    <>
      <div className="mt-3 grid gap-3 sm:grid-cols-[1fr_auto_1fr]">
        <SelectField
          label="First (A)"
          selectClass="w-full"
          value={first}
          options={options}
          onChange={(one) => choose(one, one === second ? first : second)}
        />
        <SwapButton onSwap={() => choose(second, first)} />
        <SelectField
          label="Second (B)"
          selectClass="w-full"
          value={second}
          options={options}
          onChange={(one) => choose(one === first ? second : first, one)}
        />
      </div>
      <Await query={configurations} what="the comparison">
        {(value) => (
          <>
            <div className="mt-4">
              <Downloads files={csvAndJson(path)} citation={board.citation} />
            </div>
            <ConfigurationComparison
              board={board}
              configurations={value}
              first={first}
              second={second}
              openRow={address.scenario}
            />
            <p className="mt-6 flex flex-wrap gap-x-5 text-sm">
              {[first, second].map((name, index) => {
                const found = value.configurations.find((one) => one.configuration === name);
                return found ? (
                  <a key={name} href={href(route("subject", { subject: subject.subject }), { board: found.board })}>
                    All of {index ? "B" : "A"}
                  </a>
                ) : null;
              })}
            </p>
          </>
        )}
      </Await>
    </>
  );
}

interface ConfigurationComparisonProps {
  board: Board;
  configurations: SubjectSettings;
  first: string;
  second: string;
  openRow: string;
}

function ConfigurationComparison({ board, configurations, first, second, openRow }: ConfigurationComparisonProps) {
  const one = configurations.configurations.find(({ configuration }) => configuration === first);
  const other = configurations.configurations.find(({ configuration }) => configuration === second);
  const differences = one?.others.find(({ configuration }) => configuration === second)?.apart;
  if (!one || !other || !differences) return <Empty title="These two cannot be compared.">Choose two others.</Empty>;
  const side = ({ configuration, board: on, values, shown }: typeof one): Side => ({
    label: humanize(configuration),
    subject: configurations.subject,
    board: on,
    configuration,
    values,
    shown,
  });
  return (
    <Comparison
      board={board}
      compared={configurations.compared}
      sides={[side(one), side(other)]}
      differences={differences}
      openRow={openRow}
      kind="rerun"
    />
  );
}
