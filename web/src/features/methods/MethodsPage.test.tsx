import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { MathElement } from "../../api/types";
import { Equations, Symbols } from "./MethodsPage";

const leaf = (name: string, text: string): MathElement => ({ name, attributes: {}, text, parts: [] });
const q = leaf("mi", "q");
const bar: MathElement = { name: "mover", attributes: {}, text: "", parts: [q, leaf("mo", "¯")] };

describe("an equation", () => {
  it("is drawn as the MathML that it came with", () => {
    expect(renderToStaticMarkup(<Equations equations={[{ tex: "\\bar{q}", shown: bar }]} />)).toContain(
      '<math display="block" displaystyle="true"><mover><mi>q</mi><mo>¯</mo></mover></math>',
    );
  });

  it("has its letters explained, and what is said of them is text", () => {
    expect(renderToStaticMarkup(<Symbols letters={[{ tex: "q", shown: q, means: "a <score>" }]} />)).toContain(
      "<dt><math><mi>q</mi></math></dt><dd>a &lt;score&gt;</dd>",
    );
  });
});
