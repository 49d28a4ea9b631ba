/** An equation as readable text, line by line; the words around it say what its letters are. */
export function Equation({ text }: { text: string }) {
  return (
    <div className="my-2 border-l-2 border-accent/40 py-0.5 pl-4" role="math" aria-label={text}>
      {text.split("\n").map((line, place) => (
        <div key={place} className="said whitespace-pre-wrap italic" aria-hidden="true">
          {line}
        </div>
      ))}
    </div>
  );
}
