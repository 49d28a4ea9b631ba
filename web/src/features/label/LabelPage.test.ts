import { expect, it } from "vitest";
import { optionOf } from "./LabelPage";

it("every mark has its buttons and its keys", () => {
  expect(optionOf({ kind: "yes_no", levels: [], low: 0, high: 1 }).map((one) => one.key)).toEqual(["n", "y"]);
  expect(optionOf({ kind: "number", levels: [], low: 0, high: 10 }).map((one) => one.key)).toEqual([..."0123456789x"]);
  expect(optionOf({ kind: "levels", levels: ["folds", "holds"], low: 0, high: 1 })).toEqual([
    { value: 0, title: "folds", key: "0" },
    { value: 1, title: "holds", key: "1" },
  ]);
});
