import type { ReactNode } from "react";
import { ScrollArea } from "./ScrollArea";

/** A part of a page with a title, what it is, and a table that may be wider than the page. */
export function Section({ title, description, children }: { title: string; description: string; children: ReactNode }) {
  return (
    <section className="mt-8" aria-label={title}>
      <h2>{title}</h2>
      <p className="mb-2 max-w-4xl text-sm text-soft">{description}</p>
      <ScrollArea className="lg:overflow-visible">{children}</ScrollArea>
    </section>
  );
}
