import { useMemo } from "react";
import type { Neighbour } from "../../api/types";
import { useKeyboardShortcuts, type Shortcut } from "../../hooks/useKeyboardShortcuts";
import { usePage } from "../../hooks/usePage";
import { route } from "../../routes";
import type { TranscriptProps } from "./highlights";

const NEIGHBOURS = [
  ["previous_run", "ArrowLeft", "← run", "Previous run"],
  ["next_run", "ArrowRight", "run →", "Next run"],
  ["previous_subject", "k", "↑ subject", "Previous subject"],
  ["next_subject", "j", "subject ↓", "Next subject"],
  ["previous_scenario", "p", "‹ scenario", "Previous scenario"],
  ["next_scenario", "n", "scenario ›", "Next scenario"],
] as const;

/** Links to the next and the previous run, subject and scenario; *named*: in full, else short and with shortcuts. */
export function Neighbours({ transcript, address, named = false }: TranscriptProps & { named?: boolean }) {
  const { href, navigate } = usePage();
  const { neighbours } = transcript;
  const target = useMemo(() => {
    const { phrases, side, plain, tools } = address;
    return ({ id }: Neighbour) => route("transcript", { transcript: id, phrases, side, plain, tools });
  }, [address]);
  const shortcuts = useMemo<Shortcut[]>(() => {
    if (named) return [];
    return NEIGHBOURS.map(([name, key, , description]) => {
      const neighbour = neighbours[name];
      return { key, description, action: () => neighbour && navigate(target(neighbour)) };
    });
  }, [neighbours, navigate, target, named]);
  useKeyboardShortcuts(shortcuts);
  return (
    <ul className={named ? "grid gap-x-8 gap-y-1 sm:grid-cols-2" : "grid grid-flow-col grid-rows-2 gap-1"}>
      {NEIGHBOURS.map(([name, key, sign, description]) => {
        const neighbour = neighbours[name];
        const className = named ? "flex flex-wrap gap-x-2" : "button w-full justify-center";
        if (!neighbour) {
          return named ? null : (
            <li key={name}>
              <span className={`${className} border-line text-faint`} aria-disabled="true">
                {sign}
              </span>
            </li>
          );
        }
        return (
          <li key={name}>
            <a
              className={className}
              href={href(target(neighbour))}
              title={`${description} (${key.replace("Arrow", "")} key)`}
              rel={name.startsWith("next") ? "next" : "prev"}
            >
              <span>{sign}</span>
              {named ? (
                <span className="label text-soft">
                  <bdi>{neighbour.label}</bdi>, {neighbour.scenario}, run {neighbour.run}
                </span>
              ) : null}
            </a>
          </li>
        );
      })}
    </ul>
  );
}
