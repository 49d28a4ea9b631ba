import { isFormatted } from "./formatting";
import { Highlighted } from "./Highlighted";
import { later } from "./later";
import type { Span } from "./spans";

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
  const Shown = formatted && isFormatted(text) ? Formatted : Plain;
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
