import { isFormatted } from "../lib/markdownLimits";
import type { Span } from "../lib/textSpans";
import { HighlightedText } from "./HighlightedText";
import { lazyComponent } from "./lazyComponent";

interface TextProps {
  text: string;
  spans: readonly Span[];
  found: string;
}

interface Props extends Partial<TextProps> {
  text: string;
  formatted?: boolean;
}

/** A message, formatted as Markdown where it looks like some, else as plain text. */
export function MessageText({ text, spans = [], found = "", formatted = true }: Props) {
  const Text = formatted && isFormatted(text) ? FormattedText : PlainText;
  return <Text text={text} spans={spans} found={found} />;
}

function PlainText(props: TextProps) {
  return (
    <div className="plain" dir="auto">
      <HighlightedText {...props} />
    </div>
  );
}

/** Plain until the Markdown parser is loaded. */
export const FormattedText = lazyComponent<TextProps>(() => import("./Markdown"), PlainText);
