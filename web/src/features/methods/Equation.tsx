import { createElement, type ReactNode } from "react";
import type { Equation, Letter, MathElement } from "../../api/types";
import { ScrollArea } from "../../components/sections";

/** Equations, one below the other. Copying gets their TeX. */
export function Equations({ equations }: { equations: readonly Equation[] }) {
  return (
    <div className="equations">
      {equations.map((one) => (
        <EquationBlock key={one.tex} equation={one} />
      ))}
    </div>
  );
}

function EquationBlock({ equation }: { equation: Equation }) {
  return (
    <div
      onCopy={(event) => {
        event.clipboardData.setData("text/plain", equation.tex);
        event.preventDefault();
      }}
    >
      <ScrollArea label="an equation that scrolls sideways">
        {createElement("math", { display: "block", displaystyle: "true" }, mathml(equation.shown))}
      </ScrollArea>
    </div>
  );
}

/** What the symbols of equations mean. */
export function Symbols({ letters }: { letters: readonly Letter[] }) {
  return (
    <dl className="where">
      {letters.map((letter) => (
        <div key={letter.tex}>
          <dt>{createElement("math", null, mathml(letter.shown))}</dt>
          <dd>{letter.means}</dd>
        </div>
      ))}
    </dl>
  );
}

function mathml(one: MathElement): ReactNode {
  return createElement(one.name, one.attributes, one.text || null, ...one.parts.map(mathml));
}
