import { transcriptAt } from "../../addresses";
import type { NameChoice } from "../../api/types";
import { Sideways } from "../../parts/Sideways";
import { useHere } from "../../parts/place";

/** Which names it chose where it was free to choose who to be, and what became of them. */
export function Names({ names }: { names: readonly NameChoice[] }) {
  const { href } = useHere();
  return (
    <Sideways>
      <table className="data">
        <caption className="sr-only">Names and genders that it chose</caption>
        <thead>
          <tr>
            <th scope="col">Run</th>
            <th scope="col">Scenario</th>
            <th scope="col">Chose</th>
            <th scope="col">In the end</th>
            <th scope="col">Kept</th>
            <th scope="col">Read by</th>
          </tr>
        </thead>
        <tbody>
          {names.map((one) => (
            <tr key={one.transcript}>
              <th scope="row" className="font-normal">
                <a href={href(transcriptAt(one.transcript))}>run {one.run}</a>
              </th>
              <td className="eyebrow label">{one.scenario}</td>
              <td>
                <Chosen name={one.first_name} gender={one.first_gender} />
              </td>
              <td>
                <Chosen name={one.final_name} gender={one.final_gender} />
              </td>
              <td>{kept(one)}</td>
              <td className="eyebrow label">{one.read_by}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Sideways>
  );
}

function Chosen({ name, gender }: { name: string | null; gender: string | null }) {
  return (
    <>
      <bdi className="label font-medium">{name ?? "–"}</bdi>
      {gender ? <bdi className="text-faint">, {gender}</bdi> : null}
    </>
  );
}

function kept({ name_changed: name, gender_changed: gender, asked }: NameChoice): string {
  const said = (what: string, changed: boolean | null) =>
    changed === null ? `${what}: unsure` : changed ? `${what} changed` : `${what} kept`;
  if (!asked) return name === null ? "" : said("name", name);
  return `${said("name", name)}, ${said("gender", gender)}`;
}
