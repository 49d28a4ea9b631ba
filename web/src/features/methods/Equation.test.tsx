import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { Expression } from "../../api/types";
import { Equations, mathml, Symbols } from "./Equation";

const leaf = (kind: Expression["kind"], text: string): Expression => ({ kind, text, parts: [] });
const name = (text: string) => leaf("name", text);
const of = (kind: Expression["kind"], ...parts: Expression[]): Expression => ({ kind, text: "", parts });
const drawn = (one: Expression) => renderToStaticMarkup(mathml(one));

describe("an equation", () => {
  it("is drawn as MathML, each kind of part as its element", () => {
    expect(drawn(of("fraction", leaf("number", "1"), of("root", name("n"))))).toBe(
      "<mfrac><mn>1</mn><msqrt><mi>n</mi></msqrt></mfrac>",
    );
    expect(drawn(of("row", of("mean", name("x")), leaf("sign", "="), leaf("words", "all of it")))).toBe(
      '<mrow><mover accent="true"><mi>x</mi><mo>‾</mo></mover><mo>=</mo><mtext>all of it</mtext></mrow>',
    );
  });

  it("has what a sum runs over below its sign, and its end above", () => {
    const sign = '<mo movablelimits="false">∑</mo>';
    expect(drawn(of("sum", name("x"), name("i")))).toBe(`<mrow><munder>${sign}<mi>i</mi></munder><mi>x</mi></mrow>`);
    expect(drawn(of("sum", name("x"), name("i"), name("n")))).toBe(
      `<mrow><munderover>${sign}<mi>i</mi><mi>n</mi></munderover><mi>x</mi></mrow>`,
    );
  });

  it("has an exponent above the index, not behind it", () => {
    const indexed = of("index", name("s"), name("c"));
    expect(drawn(indexed)).toBe("<msub><mi>s</mi><mi>c</mi></msub>");
    expect(drawn(of("power", indexed, leaf("number", "2")))).toBe("<msubsup><mi>s</mi><mi>c</mi><mn>2</mn></msubsup>");
    expect(drawn(of("power", name("t"), leaf("number", "2")))).toBe("<msup><mi>t</mi><mn>2</mn></msup>");
  });

  it("is called what its text says, and so is a letter that is explained", () => {
    const told = renderToStaticMarkup(<Equations equations={[{ text: "q = x / 100", shown: name("q") }]} />);
    expect(told).toContain('<math aria-label="q = x / 100" display="block" displaystyle="true"><mi>q</mi></math>');
    const where = renderToStaticMarkup(<Symbols letters={[{ text: "q", shown: name("q"), means: "a <score>" }]} />);
    expect(where).toContain('<dt><math aria-label="q"><mi>q</mi></math></dt><dd>a &lt;score&gt;</dd>');
  });
});
