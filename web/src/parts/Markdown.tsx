import type { ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import { External } from "./External";
import { Highlighted } from "./Highlighted";
import type { Span } from "./spans";

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

/** Cuts text nodes out into elements that know where they stand in the source, so that places can be marked. */
function placed() {
  return (tree: Node) => {
    place(tree);
  };
}

function place(node: Node): void {
  if (!node.children) return;
  node.children = node.children.map((child) => {
    const [start, end] = [child.position?.start?.offset, child.position?.end?.offset];
    if (child.type !== "text" || child.value === undefined || start === undefined || end === undefined) {
      place(child);
      return child;
    }
    // where an escape or an entity was read, the text is not as long as its source: then it is marked as a whole
    const exact = end - start === child.value.length;
    const properties = { start, end, exact: exact ? "yes" : "no" };
    return { type: "element", tagName: "placed", properties, children: [child] };
  });
}

const REMOVED = "image not loaded";

/**
 * A model's Markdown as React nodes. Raw HTML in it stays text; links are marked and go nowhere but http(s);
 * images are never loaded: their description and address are shown as text.
 */
export function Markdown({ text, spans, found = "" }: { text: string; spans: readonly Span[]; found?: string }) {
  const components: Components & Record<string, unknown> = {
    a: ({ href, children }: { href?: string | undefined; children?: ReactNode }) => (
      <External href={href}>{children}</External>
    ),
    img: ({ src, alt }: { src?: unknown; alt?: string | undefined }) => (
      <span className="text-faint">
        [{REMOVED}: {alt} {typeof src === "string" ? src : ""}]
      </span>
    ),
    input: () => <span>☐ </span>,
    placed: ({ node, children }: { node?: Node; children?: ReactNode }) => {
      const properties = node?.properties ?? {};
      const [start, end] = [Number(properties["start"]), Number(properties["end"])];
      const over = spans.filter((span) => span.start < end && span.end > start);
      if (!over.length || typeof children !== "string") return <>{children}</>;
      const there =
        properties["exact"] === "yes" ? over : over.map((span) => ({ ...span, start, end: start + children.length }));
      return <Highlighted text={children} spans={there} offset={start} found={found} />;
    },
  };
  return (
    <div className="markdown">
      <ReactMarkdown
        components={components as Components}
        rehypePlugins={[placed as never]}
        urlTransform={(url) => url /* External and img decide; nothing is followed unseen */}
      >
        {text}
      </ReactMarkdown>
    </div>
  );
}

export default Markdown;
