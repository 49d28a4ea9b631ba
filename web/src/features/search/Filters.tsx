import type { SearchFacets } from "../../api/types";
import { SelectField } from "../../components/fields";
import { usePage } from "../../hooks/usePage";
import { humanize } from "../../lib/format";
import type { AddressOf } from "../../routes";
import { bandsOf } from "./findDocuments";

const ANY = { value: "", title: "any" };

/** Narrows a search by subject, scenario, and a mark that the main judge gave. */
export function Filters({ facets, address }: { facets: SearchFacets; address: AddressOf<"search"> }) {
  const { update } = usePage();
  const several = new Set(facets.marks.map((mark) => mark.protocol)).size > 1;
  const same = (title: string) => ({ value: title, title });
  const marks = bandsOf(facets).map(({ value, mark, title }) => ({
    value,
    title: `${humanize(mark.name)}: ${title}${several ? ` (${mark.protocol})` : ""}`,
  }));
  const chosen = address.subject || address.scenario || address.mark;
  return (
    <div role="group" aria-label="Narrow the search" className="mt-3 flex flex-wrap items-end gap-x-4 gap-y-2">
      <SelectField
        label="Subject"
        className="flex-[1_1_12rem]"
        selectClass="w-full"
        value={address.subject}
        options={[ANY, ...facets.subjects.map(same)]}
        onChange={(subject) => update({ subject })}
      />
      <SelectField
        label="Scenario"
        className="flex-[1_1_12rem]"
        selectClass="w-full"
        value={address.scenario}
        options={[ANY, ...facets.scenarios.map(same)]}
        onChange={(scenario) => update({ scenario })}
      />
      <SelectField
        label="Mark by the main judge"
        className="flex-[1_1_12rem]"
        selectClass="w-full"
        value={address.mark}
        options={[ANY, ...marks]}
        onChange={(mark) => update({ mark })}
      />
      {chosen ? (
        <button
          type="button"
          className="min-h-8 underline underline-offset-4"
          onClick={() => update({ subject: "", scenario: "", mark: "" })}
        >
          Clear filters
        </button>
      ) : null}
    </div>
  );
}
