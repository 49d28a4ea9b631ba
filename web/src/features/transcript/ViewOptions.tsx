import { useMemo } from "react";
import { endpoints } from "../../api/queries";
import { Downloads } from "../../components/downloads";
import { useKeyboardShortcuts, type Shortcut } from "../../hooks/useKeyboardShortcuts";
import { usePage } from "../../hooks/usePage";
import { humanize } from "../../lib/format";
import { nextQuote, phrasesOf, type TranscriptProps } from "./highlights";
import { Button } from "../../components/fields";

/** How the conversation is shown. */
export function ViewOptions({ transcript, address }: TranscriptProps) {
  const { update } = usePage();
  const { embedded, scales } = transcript;
  const shortcuts = useMemo<Shortcut[]>(() => {
    const { plain, side, tools } = address;
    const all = [{ key: "f", description: "Formatted or unformatted text", action: () => update({ plain: !plain }) }];
    if (transcript.turns)
      all.push({ key: "s", description: "Both answers side by side", action: () => update({ side: !side }) });
    if (transcript.judgements.some((judgement) => judgement.quotes.length)) {
      const action = () => update({ ...nextQuote(transcript, address), side: false });
      all.push({ key: "m", description: "Next quotation of a judge", action });
    }
    all.push({ key: "t", description: "Messages as sent to the model", action: () => update({ tools: !tools }) });
    return all;
  }, [address, update, transcript]);
  useKeyboardShortcuts(shortcuts);
  return (
    <div className="no-print mt-3 flex flex-wrap items-center gap-2">
      {transcript.turns ? (
        <Toggle on={address.side} onChange={(side) => update({ side })} title="Answers side by side" />
      ) : null}
      <Toggle on={address.plain} onChange={(plain) => update({ plain })} title="Unformatted" />
      <Toggle on={address.tools} onChange={(tools) => update({ tools })} title="Messages as sent" />
      {embedded ? (
        <label className="flex items-center gap-2 text-sm text-soft">
          Embedded judge's phrases for
          <select
            className="field"
            value={phrasesOf(transcript, address.phrases) ? address.phrases : ""}
            onChange={(event) =>
              update({ phrases: event.target.value, mark: address.mark.startsWith("p") ? "" : address.mark })
            }
          >
            <option value="">no mark</option>
            {embedded.marks.map(({ mark }) => (
              <option key={mark} value={mark}>
                {scales.find((scale) => scale.name === mark)?.title ?? humanize(mark)}
              </option>
            ))}
          </select>
        </label>
      ) : null}
      <div className="ml-auto">
        <Downloads files={[{ title: "JSON", path: endpoints.transcript(transcript.id) }]} />
      </div>
    </div>
  );
}

function Toggle({ on, onChange, title }: { on: boolean; onChange: (on: boolean) => void; title: string }) {
  return (
    <Button aria-pressed={on} onClick={() => onChange(!on)}>
      {title}
    </Button>
  );
}
