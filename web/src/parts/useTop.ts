import { useLayoutEffect, useState, type RefObject } from "react";

/** How far *at* lies below the top of the page, in pixels; follows what opens, folds and wraps above it. */
export function useTop(at: RefObject<HTMLElement | null>): number {
  const [top, setTop] = useState(0);
  useLayoutEffect(() => {
    const measure = () => {
      if (at.current) setTop(Math.round(at.current.getBoundingClientRect().top + window.scrollY));
    };
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(document.body);
    return () => {
      watch.disconnect();
    };
  }, [at]);
  return top;
}
