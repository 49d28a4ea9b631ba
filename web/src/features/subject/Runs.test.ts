import { expect, test } from "vitest";
import type { RunDetail } from "../../api/types";
import { inTime } from "./Runs";

test("runs stand in the order in which they began, those without a time last", () => {
  const runs = [
    { run: 1, began: null },
    { run: 2, began: "2026-03-02 10:00" },
    { run: 3, began: "2026-03-01 10:00" },
    { run: 4, began: "2026-03-01 10:00" },
  ] as unknown as RunDetail[];

  expect(inTime(runs).map(({ run }) => run)).toEqual([3, 4, 2, 1]);
});
