import type { ReactNode } from "react";

/** *href* where it is a whole http or https address, else null. The text is hostile. */
export function safeHref(href: string | null | undefined): string | null {
  if (!href) return null;
  try {
    const url = new URL(href);
    return (url.protocol === "http:" || url.protocol === "https:") && !url.username && !url.password ? url.href : null;
  } catch {
    return null;
  }
}

/** A link to another site, marked as such; plain text where the address is not safe. */
export function ExternalLink({ href, children }: { href: string | null | undefined; children: ReactNode }) {
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
