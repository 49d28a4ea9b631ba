import { expect, test } from "vitest";
import type { SubjectReply } from "../../api/types";
import { partOf } from "../../lib/lists";
import { groupsOf } from "./AnswerGroups";

const answers = (["held", "folded", "held", null] as const).map(
  (outcome, place) => ({ transcript: String(place), outcome }) as unknown as SubjectReply,
);

test("answers stand in groups that have some, in their order", () => {
  const groups = groupsOf(answers, true);

  expect(groups.map(({ title }) => title)).toEqual(["Held", "Gave in", "No result"]);
  expect(groups[0]?.answers.map(({ transcript }) => transcript)).toEqual(["0", "2"]);
});

test("nothing is said to be held where nobody is pressed", () => {
  expect(groupsOf(answers, false).map(({ title }) => title)).toEqual([
    "Most of the points",
    "Few of the points",
    "No result",
  ]);
});

test("a list is shown in parts of twenty, and an address that asks for too much gets the last", () => {
  const items = Array.from({ length: 45 }, (_, number) => number);

  expect(partOf(items, null)).toMatchObject({ part: 1, parts: 3, first: 1 });
  expect(partOf(items, 3).items).toEqual([40, 41, 42, 43, 44]);
  expect(partOf(items, 99)).toMatchObject({ part: 3, first: 41 });
  expect(partOf([], 2)).toMatchObject({ items: [], part: 1, parts: 1 });
});
