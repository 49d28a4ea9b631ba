import type { MarkScale } from "../../api/types";

interface Props {
  scale: MarkScale;
  value: number | null;
  current: boolean; // keys set this one
  onChoose: (value: number) => void;
  onOpen: () => void;
}

/** One mark and its scale as buttons. */
export function MarkButtons({ scale, value, current, onChoose, onOpen }: Props) {
  return (
    <fieldset className={`mb-3 rounded-md border p-2 ${current ? "border-accent" : "border-line"}`} onFocus={onOpen}>
      <legend className="px-1 font-medium">
        {scale.title}
        {current ? <span className="eyebrow"> (keys set this)</span> : null}
      </legend>
      <p className="mb-1 text-sm text-soft">{scale.asks}</p>
      <div className="flex flex-wrap gap-1">
        {optionOf(scale).map((option) => (
          <button
            key={option.value}
            type="button"
            className={`button min-h-9 min-w-9 justify-center px-2 ${option.value === value ? "bg-accent text-paper" : ""}`}
            aria-pressed={option.value === value}
            title={option.key && option.key !== option.title ? `key ${option.key}` : undefined}
            onClick={(event) => {
              // by a pointer (a key's click has no detail): Enter then keeps the marks, and is not this button's
              if (event.detail) event.currentTarget.blur();
              onChoose(option.value);
            }}
          >
            {option.title}
            {option.key && option.key !== option.title ? <kbd aria-hidden="true">{option.key}</kbd> : null}
          </button>
        ))}
      </div>
    </fieldset>
  );
}

export interface MarkOption {
  value: number;
  title: string;
  key: string; // that chooses it; "" for none
}

/** Everything that a person can choose on *scale*: yes and no, its levels, or its whole numbers. */
export function optionOf(scale: Pick<MarkScale, "kind" | "levels" | "low" | "high">): MarkOption[] {
  if (scale.kind === "yes_no")
    return [
      { value: 0, title: "no", key: "n" },
      { value: 1, title: "yes", key: "y" },
    ];
  if (scale.levels.length) return scale.levels.map((title, value) => ({ value, title, key: keyOf(value) }));
  const low = Math.ceil(scale.low);
  const length = Math.floor(scale.high) - low + 1;
  return Array.from({ length }, (_, i) => ({ value: low + i, title: String(low + i), key: keyOf(low + i) }));
}

/** 0-9 are themselves; x is ten. */
function keyOf(value: number): string {
  return value >= 0 && value < 10 ? String(value) : value === 10 ? "x" : "";
}
