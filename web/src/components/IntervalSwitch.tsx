import { usePage } from "../hooks/usePage";
import { SegmentedControl } from "./SegmentedControl";

/** What the intervals are for; the choice holds on every page. */
export function IntervalSwitch() {
  const { address, update } = usePage();
  return (
    <SegmentedControl
      label="95 % intervals for"
      value={address.interval}
      options={[
        ["again", "this test again", "How far numbers would move if the very same scenarios were played again"],
        ["like", "another like it", "How far numbers would move if other scenarios of this kind were asked"],
      ]}
      onChange={(interval) => update({ interval })}
    />
  );
}
