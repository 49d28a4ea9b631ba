import { useLayoutEffect, useRef, useState, type ReactNode } from "react";

/** What may be wider than its place scrolls by itself, by keyboard too; the page never does. */
export function Sideways({
  className = "",
  what = "a table that scrolls sideways",
  children,
}: {
  className?: string;
  what?: string;
  children: ReactNode;
}) {
  const at = useRef<HTMLDivElement>(null);
  const [scrolls, setScrolls] = useState(false);
  useLayoutEffect(() => {
    const box = at.current;
    if (!box) return;
    const measure = () => {
      setScrolls(box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX !== "visible");
    };
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(box);
    if (box.firstElementChild) watch.observe(box.firstElementChild);
    return () => {
      watch.disconnect();
    };
  }, []);
  return (
    <div
      ref={at}
      className={`sideways ${className}`}
      tabIndex={scrolls ? 0 : undefined}
      role={scrolls ? "group" : undefined}
      aria-label={scrolls ? what : undefined}
    >
      {children}
    </div>
  );
}
