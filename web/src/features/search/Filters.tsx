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
  const fields = [
    ["subject", "Subject", facets.subjects.map(same)],
    ["scenario", "Scenario", facets.scenarios.map(same)],
    ["mark", "Mark by the main judge", marks],
  ] as const;
  const chosen = address.subject || address.scenario || address.mark;
  return (
    <div role="group" aria-label="Narrow the search" className="mt-3 flex flex-wrap items-end gap-x-4 gap-y-2">
      {fields.map(([name, label, options]) => (
        <SelectField
          key={name}
          label={label}
          className="flex-[1_1_12rem]"
          selectClass="w-full"
          value={address[name]}
          options={[ANY, ...options]}
          onChange={(value) => update({ [name]: value })}
        />
      ))}
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
