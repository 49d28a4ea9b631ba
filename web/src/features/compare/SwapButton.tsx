/** Exchanges the two that are compared. */
export function SwapButton({ disabled = false, onSwap }: { disabled?: boolean; onSwap: () => void }) {
  return (
    <button
      type="button"
      className="button self-end justify-self-start"
      disabled={disabled}
      onClick={onSwap}
      aria-label="Swap the two"
    >
      ⇄
    </button>
  );
}
