import { createElement, type ReactNode } from "react";
import type { Equation as Told, Expression, Letter } from "../../api/types";
import { Sideways } from "../../parts/Sideways";

/** Equations, drawn one below the other. What reads aloud says their text, and whoever copies one gets that. */
export function Equations({ equations }: { equations: readonly Told[] }) {
  return (
    <div className="equations">
      {equations.map((one) => (
        <Equation key={one.text} equation={one} />
      ))}
    </div>
  );
}

function Equation({ equation }: { equation: Told }) {
  return (
    <div
      onCopy={(event) => {
        event.clipboardData.setData("text/plain", equation.text);
        event.preventDefault();
      }}
    >
      <Sideways what="an equation that scrolls sideways">
        <Drawn one={equation.shown} text={equation.text} block />
      </Sideways>
    </div>
  );
}

/** What the letters of equations stand for. */
export function Where({ letters }: { letters: readonly Letter[] }) {
  return (
    <dl className="where">
      {letters.map((letter) => (
        <div key={letter.text}>
          <dt>
            <Drawn one={letter.shown} text={letter.text} />
          </dt>
          <dd>{letter.means}</dd>
        </div>
      ))}
    </dl>
  );
}

function Drawn({ one, text, block = false }: { one: Expression; text: string; block?: boolean }) {
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
