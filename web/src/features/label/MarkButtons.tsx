import type { MarkScale } from "../../api/types";
import { optionOf } from "./markOptions";

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
