import { expect, it } from "vitest";
import { letterName } from "./format";

it("continues after Z", () => {
  expect([0, 25, 26, 27, 52].map(letterName)).toEqual(["A", "Z", "AA", "AB", "BA"]);
});
