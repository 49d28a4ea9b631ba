import { useHere } from "./place";
import { Switch } from "./Switch";

/** What the intervals are for; it holds on every page. */
export function IntervalSwitch() {
  const { address, go } = useHere();
  return (
    <Switch
      label="95 % intervals for"
      value={address.interval}
      of={[
        ["again", "this test again", "How far numbers would move if the very same scenarios were played again"],
        ["like", "another like it", "How far numbers would move if other scenarios of this kind were asked"],
      ]}
      change={(interval) => {
        go(address, { interval }, true);
      }}
    />
  );
}
