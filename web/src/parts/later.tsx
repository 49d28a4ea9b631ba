import { useEffect, useState, type ComponentType } from "react";

type Load<P> = () => Promise<{ default: ComponentType<P> }>;

/** A component whose code may not be there yet; *ahead* fetches it while nobody waits. */
export type Later<P> = ComponentType<P> & { ahead: () => Promise<unknown> };

/**
 * A component whose code is fetched when it is first shown, or before; until it is there *Waiting* is shown.
 *
 * React's own lazy() shows what has come no sooner than 300 ms after it has shown anything in its place, and shows
 * something in its place even where all is there. Here what is there is shown at once. A failure is thrown.
 */
export function later<P extends object>(load: Load<P>, Waiting: ComponentType<P>): Later<P> {
  let there: ComponentType<P> | null = null;
  const ahead = async () => {
    there = (await load()).default;
    return there;
  };
  function Shown(props: P) {
    const [Component, setComponent] = useState(() => there);
    const [failure, setFailure] = useState<{ error: unknown } | null>(null);
    useEffect(() => {
      if (Component) return;
      let left = false;
      ahead().then(
        (found) => {
          if (!left) setComponent(() => found);
        },
        (error: unknown) => {
          if (!left) setFailure({ error });
        },
      );
      return () => {
        left = true;
      };
    }, [Component]);
    if (failure) throw failure.error;
    return Component ? <Component {...props} /> : <Waiting {...props} />;
  }
  return Object.assign(Shown, { ahead });
}
