import { subjectAt, type Address } from "../../addresses";
import type { Board, Subject } from "../../api/types";
import { Sideways } from "../../parts/Sideways";
import { plural, shown } from "../../parts/format";
import { heat } from "../../parts/Heat";
import { useHere } from "../../parts/place";

type At = Extract<Address, { page: "subject" }>;

/** Each run's index and dimensions; clicking on a run narrows the list below to it. */
export function Runs({ subject, board, at }: { subject: Subject; board: Board; at: At }) {
  const { href } = useHere();
  if (!subject.runs.length)
    return <p className="text-soft">No run counts: the subject is excluded, for the reasons above.</p>;
  const { made } = subject;
  return (
    <>
      {made ? (
        <p className="mb-2 text-sm text-soft">
          Made from {made.first} to {made.last} UTC, on {plural(made.days, "day")}. {made.says}
        </p>
      ) : null}
      <Sideways>
        <table className="data">
          <caption className="sr-only">Runs</caption>
          <thead>
            <tr>
              <th scope="col">Run</th>
              <th scope="col" title="When its first conversation ended, in UTC">
                Begun
              </th>
              <th scope="col" className="num">
                Index
              </th>
              {board.dimensions.map((dimension) => (
                <th key={dimension.name} scope="col" className="num">
                  <span className="inline-block max-w-24 whitespace-normal">{dimension.title}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {subject.runs.map((run) => (
              <tr key={run.run}>
                <th scope="row" className="font-normal">
                  <a
                    href={href(subjectAt(subject.row.subject.id, at.run === run.run ? null : run.run))}
                    aria-current={at.run === run.run ? "true" : undefined}
                    className={at.run === run.run ? "font-semibold" : ""}
                  >
                    run {run.run}
                  </a>
                </th>
                <td className="whitespace-nowrap text-soft">{run.began ?? "–"}</td>
                <td className="num font-semibold">{shown(run.shown.index)}</td>
                {run.dimensions.map((value, place) => (
                  <td key={board.dimensions[place]?.name ?? place} className="num">
                    <span className="rounded px-1.5" style={heat(value)}>
                      {shown(run.shown.dimensions[place])}
                    </span>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Sideways>
    </>
  );
}
