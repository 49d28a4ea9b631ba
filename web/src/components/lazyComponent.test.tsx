import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { lazyComponent } from "./lazyComponent";

it("shows its fallback until its code is loaded", async () => {
  const Name = lazyComponent<{ name: string }>(
    () => Promise.resolve({ default: ({ name }) => <b>{name}</b> }),
    ({ name }) => <i>{name}</i>,
  );

  expect(renderToStaticMarkup(<Name name="Iris" />)).toBe("<i>Iris</i>");
  await Name.preload();
  expect(renderToStaticMarkup(<Name name="Iris" />)).toBe("<b>Iris</b>");
});
