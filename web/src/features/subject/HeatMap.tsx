import { useMemo } from "react";
import { scenarioAt, transcriptAt, type Address } from "../../addresses";
import type { Board, Subject, TranscriptEntry } from "../../api/types";
import { Sideways } from "../../parts/Sideways";
import { shown, words } from "../../parts/format";
import { heat } from "../../parts/Heat";
import { useHere } from "../../parts/place";

type At = Extract<Address, { page: "subject" }>;

interface Props {
  subject: Subject;
  board: Board;
  at: At;
}

/** Scenarios down, runs across (of a pool: configurations in runs); a cell opens its conversation. */
export function HeatMap({ subject, board, at }: Props) {
  const { href } = useHere();
  const pooled = board.board.configurations.length > 1;
  const { columns, cells } = useMemo(() => laidOut(subject.transcripts), [subject]);
  return (
    <Sideways>
      <table className="text-sm">
        <caption className="sr-only">Score in every scenario and run; cells open conversations</caption>
        <thead>
          <tr>
            <th scope="col" className="py-1 pr-3">
              Scenario
            </th>
            <th scope="col" className="num px-2 text-soft" title="mean over runs">
              Mean
            </th>
            <th scope="col" className="num px-2 text-faint" title="mean over all ranked subjects">
              Field
            </th>
            {columns.map(({ run, configuration }) => (
              <th
                key={`${String(run)} ${configuration}`}
                scope="col"
                className={`px-1 text-center align-bottom font-normal ${at.run === run ? "text-accent" : "text-soft"}`}
              >
                run {run}
                {pooled ? (
                  <span className="eyebrow block max-w-20 leading-tight">
                    {words(configuration).replace("/", " / ")}
                  </span>
                ) : null}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {board.scenarios.map((scenario, place) => (
            <tr key={scenario.id}>
              <th scope="row" className="py-0.5 pr-3 font-normal">
                <a href={href(scenarioAt(scenario.id))} className="no-underline hover:underline">
                  {scenario.title}
                </a>
              </th>
              <td className="num px-2 font-semibold">{shown(subject.row.shown.scenarios[place])}</td>
              <td className="num px-2 text-faint">{shown(subject.shown.field[place])}</td>
              {columns.map(({ run, configuration }) => {
                const cell = cells.get(`${String(run)} ${configuration} ${scenario.id}`);
                return (
                  <td key={`${String(run)} ${configuration}`} className="p-0.5">
                    {cell ? (
                      <Cell cell={cell} title={`${scenario.title}, run ${String(run)}`} />
                    ) : (
                      <span className="block text-center text-faint">–</span>
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </Sideways>
  );
}

function Cell({ cell, title }: { cell: TranscriptEntry; title: string }) {
  const { href } = useHere();
  const says = cell.state === "judged" ? shown(cell.shown.score) : SIGNS[cell.state];
  const told =
    cell.state === "judged"
      ? cell.score === null
        ? "does not count"
        : shown(cell.shown.score)
      : `${cell.state}${cell.why ? `: ${cell.why}` : ""}`;
  return (
    <a
      href={href(transcriptAt(cell.id))}
      className={`block min-w-12 rounded px-2 py-1 text-center text-ink no-underline hover:ring-2 hover:ring-accent ${cell.score === null ? "border border-dashed border-edge" : ""}`}
      style={heat(cell.score)}
      title={`${title}: ${told}`}
      aria-label={`${title}: ${told}`}
    >
      {says}
    </a>
  );
}

const SIGNS = { "judged": "", "not judged": "open", "judge failed": "judge ✕", "invalid": "invalid" };

function laidOut(transcripts: readonly TranscriptEntry[]) {
  const cells = new Map<string, TranscriptEntry>();
  const columns = new Map<string, { run: number; configuration: string }>();
  for (const one of transcripts) {
    const { run, configuration } = one;
    columns.set(`${String(run)} ${configuration}`, { run, configuration });
    cells.set(`${String(run)} ${configuration} ${one.scenario}`, one);
  }
  return { columns: [...columns.values()], cells };
}
