interface Props {
  label: string;
  value: string;
  options: readonly { value: string; title: string; disabled?: boolean }[];
  onChange: (value: string) => void;
  className?: string;
  selectClass?: string;
}

/** A select with its label above. */
export function SelectField({ label, value, options, onChange, className = "", selectClass = "" }: Props) {
  return (
    <label className={`min-w-0 ${className}`}>
      <span className="eyebrow block">{label}</span>
      <select className={`field ${selectClass}`} value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map((option) => (
          <option key={option.value} value={option.value} disabled={option.disabled}>
            {option.title}
          </option>
        ))}
      </select>
    </label>
  );
}
