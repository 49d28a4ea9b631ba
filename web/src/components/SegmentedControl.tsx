interface Props<T extends string> {
  label: string;
  value: T;
  options: readonly (readonly [value: T, title: string, hint?: string])[];
  onChange: (value: T) => void;
  plain?: boolean; // its label is for screen readers only
}

/** A choice between a few values, as a row of buttons. */
export function SegmentedControl<T extends string>({ label, value, options, onChange, plain = false }: Props<T>) {
  return (
    <div role="group" aria-label={label} className="flex min-w-0 flex-wrap items-center gap-x-2">
      <span className={plain ? "sr-only" : "eyebrow"}>{label}</span>
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
