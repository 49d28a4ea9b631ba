import { useLayoutEffect, useRef, useState, type ReactNode } from "react";

export interface SectionProps {
  title: string;
  label?: string | undefined; // its name for screen readers, where that is another
  description?: ReactNode;
  children: ReactNode;
}

/** A part of a page with a title, what it is, and what it shows. */
export function Section({ title, label = title, description, children }: SectionProps) {
  return (
    <section className="mt-8" aria-label={label}>
      <h2>{title}</h2>
      {description ? <p className="mb-2 max-w-4xl text-sm text-soft">{description}</p> : <div className="mb-2" />}
      {children}
    </section>
  );
}

interface ScrollAreaProps {
  className?: string | undefined;
  label?: string;
  children: ReactNode;
}

const SLACK = 8; // pixels that may stand over the edge, as the end of a scale does

/**
 * Content that is wider than the page scrolls by itself, by keyboard too; the page never does. What fits does not, so
 * that the head of a long table stays in sight.
 */
export function ScrollArea({ className = "", label = "a table that scrolls sideways", children }: ScrollAreaProps) {
  const ref = useRef<HTMLDivElement>(null);
  const [scrolls, setScrolls] = useState(false);
  useLayoutEffect(() => {
    const box = ref.current;
    if (!box) return;
    const measure = () => {
      setScrolls(box.scrollWidth > box.clientWidth + SLACK);
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
      className={`${scrolls ? "scroll-area" : ""} ${className}`}
      tabIndex={scrolls ? 0 : undefined}
      role={scrolls ? "group" : undefined}
      aria-label={scrolls ? label : undefined}
    >
      {children}
    </div>
  );
}

interface DisclosureProps {
  title: ReactNode;
  note?: ReactNode;
  open?: boolean;
  className?: string;
  children: ReactNode;
  onToggle?: (open: boolean) => void;
}

/** Folded content, drawn only once it was opened: pages stay light. */
export function Disclosure({ title, note, open = false, className = "", children, onToggle }: DisclosureProps) {
  const [opened, setOpened] = useState(open);
  return (
    <details
      open={open}
      className={`group ${className}`}
      onToggle={({ currentTarget }) => {
        if (currentTarget.open) setOpened(true);
        onToggle?.(currentTarget.open);
      }}
    >
      <summary className="flex flex-wrap items-baseline gap-x-2 rounded py-0.5">
        <span aria-hidden="true" className="inline-block w-3 text-faint transition-transform group-open:rotate-90">
          ›
        </span>
        <span>{title}</span>
        {note ? <span className="eyebrow">{note}</span> : null}
      </summary>
      {opened ? <div className="pt-1.5 pb-1 pl-5">{children}</div> : null}
    </details>
  );
}
