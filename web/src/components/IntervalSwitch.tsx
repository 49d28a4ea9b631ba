import { usePage } from "../hooks/usePage";
import { SegmentedControl } from "./SegmentedControl";

/** What the intervals are for; the choice holds on every page. */
export function IntervalSwitch() {
  const { address, update } = usePage();
  return (
    <SegmentedControl
      label="95% CI"
      value={address.interval}
      options={[
        ["rerun", "rerun", "Where a number would lie over very many runs of the same scenarios"],
        ["like", "new scenarios", "Where a number would lie with other scenarios of the same kind"],
      ]}
      onChange={(interval) => update({ interval })}
    />
  );
}
