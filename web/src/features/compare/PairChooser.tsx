import { Button, SelectField } from "../../components/fields";

interface Props {
  first: string;
  second: string;
  options: readonly { value: string; title: string }[];
  exclusive?: boolean; // what one side shows cannot be chosen on the other; else that exchanges the two
  onChoose: (first: string, second: string) => void;
}

/** The two that are compared, and a button that exchanges them. */
export function PairChooser({ first, second, options, exclusive = false, onChoose }: Props) {
  const without = (taken: string) =>
    options.map((option) => ({ ...option, disabled: exclusive && taken !== "" && option.value === taken }));
  return (
    <div className="grid gap-3 sm:grid-cols-[1fr_auto_1fr]">
      <SelectField
        label="First (A)"
        selectClass="w-full"
        value={first}
        options={without(second)}
        onChange={(chosen) => onChoose(chosen, chosen && chosen === second ? first : second)}
      />
      <Button
        className="self-end justify-self-start"
        disabled={!first || !second}
        onClick={() => onChoose(second, first)}
        aria-label="Swap the two"
      >
        ⇄
      </Button>
      <SelectField
        label="Second (B)"
        selectClass="w-full"
        value={second}
        options={without(first)}
        onChange={(chosen) => onChoose(chosen && chosen === first ? second : first, chosen)}
      />
    </div>
  );
}
