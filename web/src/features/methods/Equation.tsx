import { createElement, type ReactNode } from "react";
import type { Equation, Expression, Letter } from "../../api/types";
import { ScrollArea } from "../../components/sections";

/** Equations, one below the other. Screen readers and copying get their text. */
export function Equations({ equations }: { equations: readonly Equation[] }) {
  return (
    <div className="equations">
      {equations.map((one) => (
        <EquationBlock key={one.text} equation={one} />
      ))}
    </div>
  );
}

function EquationBlock({ equation }: { equation: Equation }) {
  return (
    <div
      onCopy={(event) => {
        event.clipboardData.setData("text/plain", equation.text);
        event.preventDefault();
      }}
    >
      <ScrollArea label="an equation that scrolls sideways">
        <MathElement one={equation.shown} text={equation.text} block />
      </ScrollArea>
    </div>
  );
}

/** What the symbols of equations mean. */
export function Symbols({ letters }: { letters: readonly Letter[] }) {
  return (
    <dl className="where">
      {letters.map((letter) => (
        <div key={letter.text}>
          <dt>
            <MathElement one={letter.shown} text={letter.text} />
          </dt>
          <dd>{letter.means}</dd>
        </div>
      ))}
    </dl>
  );
}

function MathElement({ one, text, block = false }: { one: Expression; text: string; block?: boolean }) {
  const display = block ? { display: "block", displaystyle: "true" } : {};
  return createElement("math", { "aria-label": text, ...display }, mathml(one));
}

/** *one* as MathML Core. */
export function mathml(one: Expression): ReactNode {
  const parts = one.parts.map(mathml);
  switch (one.kind) {
    case "name":
      return createElement("mi", null, one.text);
    case "words":
      return createElement("mtext", null, one.text);
    case "number":
      return createElement("mn", null, one.text);
    case "sign":
      return createElement("mo", null, one.text);
    case "row":
      return createElement("mrow", null, ...parts);
    case "fraction":
      return createElement("mfrac", null, ...parts);
    case "root":
      return createElement("msqrt", null, ...parts);
    case "power": {
      const [base, exponent] = one.parts;
      if (base?.kind !== "index") return createElement("msup", null, ...parts);
      return createElement("msubsup", null, ...base.parts.map(mathml), exponent ? mathml(exponent) : null); // one above the other
    }
    case "index":
      return createElement("msub", null, ...parts);
    case "mean":
      return createElement("mover", { accent: "true" }, ...parts, createElement("mo", null, "‾"));
    case "sum": {
      const [what, ...bounds] = parts;
      const sign = createElement("mo", { movablelimits: "false" }, "∑");
      return createElement(
        "mrow",
        null,
        createElement(bounds.length > 1 ? "munderover" : "munder", null, sign, ...bounds),
        what,
      );
    }
  }
}
