import type { ReactNode } from "react";

/** *href* where it is http or https and whole; else null. What others wrote is never trusted to be a link. */
export function safeHref(href: string | null | undefined): string | null {
  if (!href) return null;
  try {
    const url = new URL(href);
    return (url.protocol === "http:" || url.protocol === "https:") && !url.username && !url.password ? url.href : null;
  } catch {
    return null;
  }
}

/** A link out of the viewer, shown as such; text where it is not a link that we would follow. */
export function External({ href, children }: { href: string | null | undefined; children: ReactNode }) {
  const safe = safeHref(href);
  if (!safe)
    return (
      <span>
        {children}
        {href ? <span className="text-faint"> ({href})</span> : null}
      </span>
    );
  return (
    <a href={safe} target="_blank" rel="noopener noreferrer nofollow" title={`leaves this page: ${safe}`}>
      {children}
      <span aria-hidden="true"> ↗</span>
      <span className="sr-only"> (another site, opens in a new tab)</span>
    </a>
  );
}
