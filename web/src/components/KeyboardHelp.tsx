import { useState } from "react";
import { shortcutsAreOn, switchShortcuts, useAllShortcuts } from "../hooks/useKeyboardShortcuts";
import { Dialog } from "./Dialog";

const NAMES: Record<string, string> = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };

/** The shortcuts of the page that is open. */
export function KeyboardHelp({ close }: { close: () => void }) {
  const shortcuts = useAllShortcuts();
  const [on, setOn] = useState(shortcutsAreOn());
  return (
    <Dialog title="Keys" close={close}>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1.5">
        {shortcuts.map(({ key, description }) => (
          <div key={key} className="contents">
            <dt>
              <kbd>{NAMES[key] ?? key}</kbd>
            </dt>
            <dd>{description}</dd>
          </div>
        ))}
      </dl>
      <label className="mt-4 flex items-center gap-2 border-t border-line pt-3">
        <input
          type="checkbox"
          checked={on}
          onChange={(event) => {
            setOn(event.target.checked);
            switchShortcuts(event.target.checked);
          }}
        />
        Single keys work (Tab, Enter and Escape always do)
      </label>
    </Dialog>
  );
}
