import { useEffect, useState, type ComponentType } from "react";

type Load<P> = () => Promise<{ default: ComponentType<P> }>;

/** A component whose code may not be loaded yet; *preload* fetches it before it is shown. */
type LazyComponent<P> = ComponentType<P> & { preload: () => Promise<unknown> };

/**
 * A component whose code is fetched when it is first shown, or by *preload*; *Fallback* is shown until then.
 *
 * React's lazy() keeps a fallback on screen for at least 300 ms, and shows one even where the code is loaded. Here
 * loaded code is shown at once. An error of *load* is thrown while rendering.
 */
export function lazyComponent<P extends object>(load: Load<P>, Fallback: ComponentType<P>): LazyComponent<P> {
  let loaded: ComponentType<P> | null = null;
  const preload = async () => {
    loaded = (await load()).default;
    return loaded;
  };
  function Lazy(props: P) {
    const [Component, setComponent] = useState(() => loaded);
    const [failure, setFailure] = useState<{ error: unknown } | null>(null);
    useEffect(() => {
      if (Component) return;
      let unmounted = false;
      preload().then(
        (found) => !unmounted && setComponent(() => found),
        (error: unknown) => !unmounted && setFailure({ error }),
      );
      return () => {
        unmounted = true;
      };
    }, [Component]);
    if (failure) throw failure.error;
    return Component ? <Component {...props} /> : <Fallback {...props} />;
  }
  return Object.assign(Lazy, { preload });
}
