import { expect, test } from "vitest";
import { linearAxis, logAxis } from "./axes";

test("a linear axis holds its values between round ticks", () => {
  const { ticks, place } = linearAxis([43, 99.7], String, 100);
  expect(ticks).toEqual([40, 60, 80, 100]);
  expect(place(100)).toBe(1);
  expect(place(43)).toBeGreaterThan(0);
});

test("an axis of one value has a length", () => {
  expect(linearAxis([80], String).ticks.length).toBeGreaterThan(1);
  expect(linearAxis([0], String).ticks.length).toBeGreaterThan(1);
  expect(Number.isFinite(logAxis([0.01], String).place(0.01))).toBe(true);
});

test("a logarithmic axis counts in ones, twos and fives, and over many powers in ones", () => {
  expect(logAxis([0.011, 0.08], String).ticks).toEqual([0.01, 0.02, 0.05, 0.1]);
  expect(logAxis([0.0003, 2.5], String).ticks).toEqual([0.001, 0.01, 0.1, 1]);
  expect(logAxis([0.01, 0.1], String).place(0.01)).toBe(0);
  expect(logAxis([0.01, 0.1], String).place(0.1)).toBe(1);
});
