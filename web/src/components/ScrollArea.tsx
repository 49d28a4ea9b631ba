import { useLayoutEffect, useRef, useState, type ReactNode } from "react";

/** Content that may be wider than the page scrolls by itself, by keyboard too; the page never does. */
export function ScrollArea({
  className = "",
  label = "a table that scrolls sideways",
  children,
}: {
  className?: string;
  label?: string;
  children: ReactNode;
}) {
  const ref = useRef<HTMLDivElement>(null);
  const [scrolls, setScrolls] = useState(false);
  useLayoutEffect(() => {
    const box = ref.current;
    if (!box) return;
    const measure = () => {
      setScrolls(box.scrollWidth > box.clientWidth && getComputedStyle(box).overflowX !== "visible");
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    if (box.firstElementChild) observer.observe(box.firstElementChild);
    return () => observer.disconnect();
  }, []);
  return (
    <div
      ref={ref}
      className={`scroll-area ${className}`}
      tabIndex={scrolls ? 0 : undefined}
      role={scrolls ? "group" : undefined}
      aria-label={scrolls ? label : undefined}
    >
      {children}
    </div>
  );
}
