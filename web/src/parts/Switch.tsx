/** One of a few, as a row of buttons. */
export function Switch<T extends string>({
  label,
  value,
  of,
  change,
  shown = true,
}: {
  label: string;
  value: T;
  of: readonly (readonly [T, string, string?])[];
  change: (value: T) => void;
  shown?: boolean;
}) {
  return (
    <div role="group" aria-label={label} className="min-w-0">
      {shown ? <span className="eyebrow block">{label}</span> : null}
      <div className="inline-flex overflow-hidden rounded-[7px] border border-edge">
        {of.map(([name, title, hint]) => (
          <button
            key={name}
            type="button"
            className="segment"
            aria-pressed={name === value}
            title={hint}
            onClick={() => {
              change(name);
            }}
          >
            {title}
          </button>
        ))}
      </div>
    </div>
  );
}
