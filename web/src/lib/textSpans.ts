/**
 * Places in a text, and a text cut at them. Places count UTF-16 code units, as the API and JavaScript do.
 */

export interface Place {
  start: number;
  end: number;
}

export interface Span extends Place {
  kind: string; // decides how it looks
  id: string; // what a link to it says; "" where nothing links to it
  title: string; // for a pointer that rests on it, and for screen readers
}

export interface Piece {
  text: string;
  start: number;
  spans: readonly Span[];
}

/** *text* in pieces, each with all spans that lie over it. Joined, the pieces are the text again. */
export function cut(text: string, spans: readonly Span[], offset = 0): Piece[] {
  const end = offset + text.length;
  const over = spans.filter((span) => span.start < end && span.end > offset && span.start < span.end);
  const edges = new Set([offset, end]);
  for (const span of over) {
    edges.add(Math.max(offset, span.start));
    edges.add(Math.min(end, span.end));
  }
  const places = [...edges].sort((a, b) => a - b);
  return places.slice(0, -1).map((start, number) => {
    const stop = places[number + 1] ?? end;
    return {
      text: text.slice(start - offset, stop - offset),
      start,
      spans: over.filter((span) => span.start < stop && span.end > start),
    };
  });
}

/** What lies between *spans* in a text of *length*: where nothing is shared, something is new. */
export function between(spans: readonly Place[], length: number): Place[] {
  const left = [];
  let at = 0;
  for (const span of [...spans].sort((a, b) => a.start - b.start)) {
    if (span.start > at) left.push({ start: at, end: span.start });
    at = Math.max(at, span.end);
  }
  if (at < length) left.push({ start: at, end: length });
  return left;
}
