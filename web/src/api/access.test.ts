import { expect, test } from "vitest";
import { tokenIn } from "./access";

test("an address brings a token that lasts, or one that is good once; a page's own address brings none", () => {
  expect(tokenIn("#token=ab-_9")).toEqual({ kind: "token", token: "ab-_9" });
  expect(tokenIn("#once=ab")).toEqual({ kind: "once", token: "ab" });
  for (const hash of ["", "#", "#/", "#/search?find=token=ab", "#token=", "#token=<b>", "#tokens=ab", "#/#token=ab"])
    expect(tokenIn(hash)).toBeNull();
});
