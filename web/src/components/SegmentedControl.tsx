interface Props<T extends string> {
  label: string;
  value: T;
  options: readonly (readonly [value: T, title: string, hint?: string])[];
  onChange: (value: T) => void;
}

/** A choice between a few values, as a row of buttons. */
export function SegmentedControl<T extends string>({ label, value, options, onChange }: Props<T>) {
  return (
    <div role="group" aria-label={label} className="min-w-0">
      <span className="eyebrow block">{label}</span>
      <div className="inline-flex overflow-hidden rounded-[7px] border border-edge">
        {options.map(([name, title, hint]) => (
          <button
            key={name}
            type="button"
            className="segment"
            aria-pressed={name === value}
            title={hint}
            onClick={() => onChange(name)}
          >
            {title}
          </button>
        ))}
      </div>
    </div>
  );
}
