import type { ComponentProps } from "react";
import { usePage } from "../hooks/usePage";

export function Button({ className = "", ...props }: ComponentProps<"button">) {
  return <button type="button" className={`button ${className}`} {...props} />;
}

interface SelectProps {
  label: string;
  value: string;
  options: readonly { value: string; title: string; disabled?: boolean }[];
  onChange: (value: string) => void;
  className?: string;
  selectClass?: string;
}

/** A select with its label above. */
export function SelectField({ label, value, options, onChange, className = "", selectClass = "" }: SelectProps) {
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

interface SegmentedProps<T extends string> {
  label: string;
  value: T;
  options: readonly (readonly [value: T, title: string, hint?: string])[];
  onChange: (value: T) => void;
  plain?: boolean; // its label is for screen readers only
}

/** A choice between a few values, as a row of buttons. */
export function SegmentedControl<T extends string>(props: SegmentedProps<T>) {
  const { label, value, options, onChange, plain = false } = props;
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

/** What the intervals are for; the choice holds on every page. */
export function IntervalSwitch() {
  const { address, update } = usePage();
  return (
    <SegmentedControl
      label="95% CI"
      value={address.interval}
      options={[
        ["rerun", "same scenarios", "Where a number would lie over very many runs of the same scenarios"],
        ["like", "new scenarios", "Where a number would lie with other scenarios of the same kind"],
      ]}
      onChange={(interval) => update({ interval })}
    />
  );
}
