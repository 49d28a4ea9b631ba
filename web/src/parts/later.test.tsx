import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { later } from "./later";

it("shows what is there at once, and something else until then", async () => {
  const Named = later<{ name: string }>(
    () => Promise.resolve({ default: ({ name }) => <b>{name}</b> }),
    ({ name }) => <i>{name}</i>,
  );

  expect(renderToStaticMarkup(<Named name="Iris" />)).toBe("<i>Iris</i>");
  await Named.ahead();
  expect(renderToStaticMarkup(<Named name="Iris" />)).toBe("<b>Iris</b>");
});
