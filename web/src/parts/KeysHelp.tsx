import { useState } from "react";
import { Dialog } from "./Dialog";
import { keysAreOn, switchKeys, useAllKeys } from "./useKeys";

const NAMES: Record<string, string> = { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓" };

/** What can be done by keyboard here. */
export function KeysHelp({ close }: { close: () => void }) {
  const keys = useAllKeys();
  const [on, setOn] = useState(keysAreOn());
  return (
    <Dialog title="Keys" close={close}>
      <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1.5">
        {keys.map((one) => (
          <div key={one.key} className="contents">
            <dt>
              <kbd>{NAMES[one.key] ?? one.key}</kbd>
            </dt>
            <dd>{one.says}</dd>
          </div>
        ))}
      </dl>
      <label className="mt-4 flex items-center gap-2 border-t border-line pt-3">
        <input
          type="checkbox"
          checked={on}
          onChange={(event) => {
            setOn(event.target.checked);
            switchKeys(event.target.checked);
          }}
        />
        Single keys work (Tab, Enter and Escape always do)
      </label>
    </Dialog>
  );
}
