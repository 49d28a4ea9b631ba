import { Fragment } from "react";

/** The label of a subject or judge: a narrow line breaks behind one of its signs before it breaks a word. */
export function Label({ text, className = "" }: { text: string; className?: string }) {
  return (
    <bdi className={`label ${className}`}>
      {text.split(/(?<=[/:@+])/).map((part, place) => (
        <Fragment key={place}>
          {place ? <wbr /> : null}
          {part}
        </Fragment>
      ))}
    </bdi>
  );
}
