import type { ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import { HighlightedText } from "./HighlightedText";
import type { Span } from "../lib/textSpans";

interface Position {
  start?: { offset?: number | undefined };
  end?: { offset?: number | undefined };
}
interface Node {
  type: string;
  tagName?: string;
  value?: string;
  children?: Node[];
  properties?: Record<string, unknown>;
  position?: Position;
}

/** A rehype plugin: wraps text nodes in elements with their offsets in the source, so that spans can be highlighted. */
function withOffsets() {
  return (tree: Node) => {
    addOffsets(tree);
  };
}

function addOffsets(node: Node): void {
  if (!node.children) return;
  node.children = node.children.map((child) => {
    const [start, end] = [child.position?.start?.offset, child.position?.end?.offset];
    if (child.type !== "text" || child.value === undefined || start === undefined || end === undefined) {
      addOffsets(child);
      return child;
    }
    // where the source has an escape or an entity, the text is shorter: then it is highlighted as a whole
    const exact = end - start === child.value.length;
    const properties = { start, end, exact: exact ? "yes" : "no" };
    return { type: "element", tagName: "source-text", properties, children: [child] };
  });
}

const REMOVED = "image not loaded";

/**
 * A model's Markdown as React nodes. Raw HTML in it stays text; links are marked and go nowhere but http(s);
 * images are never loaded: their description and address are shown as text.
 */
function Markdown({ text, spans, found = "" }: { text: string; spans: readonly Span[]; found?: string }) {
  const components: Components & Record<string, unknown> = {
    "a": ({ href, children }: { href?: string | undefined; children?: ReactNode }) => (
      <ExternalLink href={href}>{children}</ExternalLink>
    ),
    "img": ({ src, alt }: { src?: unknown; alt?: string | undefined }) => (
      <span className="text-faint">
        [{REMOVED}: {alt} {typeof src === "string" ? src : ""}]
      </span>
    ),
    "input": () => <span>☐ </span>,
    "source-text": ({ node, children }: { node?: Node; children?: ReactNode }) => {
      const properties = node?.properties ?? {};
      const [start, end] = [Number(properties["start"]), Number(properties["end"])];
      const over = spans.filter((span) => span.start < end && span.end > start);
      if (!over.length || typeof children !== "string") return <>{children}</>;
      const there =
        properties["exact"] === "yes" ? over : over.map((span) => ({ ...span, start, end: start + children.length }));
      return <HighlightedText text={children} spans={there} offset={start} found={found} />;
    },
  };
  return (
    <div className="markdown">
      <ReactMarkdown
        components={components as Components}
        rehypePlugins={[withOffsets as never]}
        urlTransform={(url) => url /* ExternalLink and img decide; nothing is followed unseen */}
      >
        {text}
      </ReactMarkdown>
    </div>
  );
}

export default Markdown;

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
