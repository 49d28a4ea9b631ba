import { expect, test } from "vitest";
import { cluster } from "./cluster";

const FRAME = { left: 40, right: 340, top: 20, bottom: 320 };

test("points that lie on each other share one text", () => {
  const labels = cluster(
    [
      [100, 100],
      [200, 200],
      [103, 101],
    ],
    FRAME,
  );
  expect(labels.map(({ members }) => members)).toEqual([[0, 2], [1]]);
});

test("a text stays inside, whichever corner its point is in", () => {
  for (const at of [
    [340, 20],
    [40, 320],
    [340, 320],
    [40, 20],
  ] as const) {
    const [label] = cluster([at], FRAME);
    expect(label?.anchor).toBe(at[0] === 40 ? "start" : "end");
    expect(label?.y).toBeGreaterThan(FRAME.top);
    expect(label?.y).toBeLessThanOrEqual(FRAME.bottom);
  }
});

test("texts of points beside each other do not cover each other", () => {
  const labels = cluster(
    [
      [100, 100],
      [112, 100],
    ],
    FRAME,
  );
  expect(labels[0]).not.toMatchObject({ x: labels[1]?.x, y: labels[1]?.y });
});

test("of many points at one place the first few are named", () => {
  const [label] = cluster(
    Array.from({ length: 30 }, () => [340, 320] as const),
    FRAME,
  );
  expect(label?.text).toBe("1 2 3 4 5 +25");
  expect(label?.members).toHaveLength(30);
});

test("nothing is drawn of nobody", () => {
  expect(cluster([], FRAME)).toEqual([]);
});
