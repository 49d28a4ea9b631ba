import { lazy, Suspense } from "react";
import { Highlighted } from "./Highlighted";
import type { Span } from "./spans";

const Markdown = lazy(() => import("./Markdown"));
const LOOKS_FORMATTED = /[*_`#>|[\]]|^\s*(?:[-+]|\d+[.)])\s/m;
const LONGEST = 40_000; // characters that are formatted; longer ones are shown as they came

interface Props {
  text: string;
  spans?: readonly Span[];
  found?: string;
  formatted?: boolean;
}

/** What somebody said: formatted where that helps reading, else letter for letter. */
export function Said({ text, spans = [], found = "", formatted = true }: Props) {
  const plain = (
    <div className="plain" dir="auto">
      <Highlighted text={text} spans={spans} found={found} />
    </div>
  );
  if (!formatted || text.length > LONGEST || !LOOKS_FORMATTED.test(text)) return plain;
  return (
    <Suspense fallback={plain}>
      <Markdown text={text} spans={spans} found={found} />
    </Suspense>
  );
}
