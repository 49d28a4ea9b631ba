interface Props {
  label: string;
  value: string;
  of: readonly { value: string; shown: string; disabled?: boolean }[];
  change: (value: string) => void;
  optional?: boolean; // whether nothing may be chosen
}

/** One of what can be compared. */
export function Chooser({ label, value, of, change, optional = false }: Props) {
  return (
    <label className="min-w-0">
      <span className="eyebrow block">{label}</span>
      <select
        className="field w-full"
        value={value}
        onChange={(event) => {
          change(event.target.value);
        }}
      >
        {optional ? <option value="">choose …</option> : null}
        {of.map((one) => (
          <option key={one.value} value={one.value} disabled={one.disabled}>
            {one.shown}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Turns a comparison round. */
export function Swap({ disabled = false, swap }: { disabled?: boolean; swap: () => void }) {
  return (
    <button
      type="button"
      className="button self-end justify-self-start"
      disabled={disabled}
      onClick={swap}
      aria-label="Swap the two"
    >
      ⇄
    </button>
  );
}
