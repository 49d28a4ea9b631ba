import { usePage } from "../hooks/usePage";
import { route } from "../routes";

/** What stands beside a protocol that no real model has been measured with. */
export function Unvalidated() {
  const { href } = usePage();
  return (
    <a href={href(route("methods", { part: "unvalidated" }))} className="chip chip-warn no-underline hover:underline">
      unvalidated
    </a>
  );
}
