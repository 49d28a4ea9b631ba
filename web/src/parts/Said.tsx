import { Highlighted } from "./Highlighted";
import { later } from "./later";
import type { Span } from "./spans";

const LOOKS_FORMATTED = /[*_`#>|[\]]|^\s*(?:[-+]|\d+[.)])\s/m;
const LONGEST = 40_000; // characters that are formatted; longer ones are shown as they came

interface Text {
  text: string;
  spans: readonly Span[];
  found: string;
}

interface Props extends Partial<Text> {
  text: string;
  formatted?: boolean;
}

/** What somebody said: formatted where that helps reading, else letter for letter. */
export function Said({ text, spans = [], found = "", formatted = true }: Props) {
  const isPlain = !formatted || text.length > LONGEST || !LOOKS_FORMATTED.test(text);
  const Shown = isPlain ? Plain : Formatted;
  return <Shown text={text} spans={spans} found={found} />;
}

function Plain({ text, spans, found }: Text) {
  return (
    <div className="plain" dir="auto">
      <Highlighted text={text} spans={spans} found={found} />
    </div>
  );
}

/** Set as Markdown, once the code that does it is there. */
export const Formatted = later<Text>(() => import("./Markdown"), Plain);
