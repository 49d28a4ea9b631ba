import { describe, expect, it } from "vitest";
import { chosen } from "./chosen";

const THERE = ["neutral/user", "neutral/tool", "strong/user"];

describe("the two configurations that are compared", () => {
  it("are those that were asked for", () => {
    expect(chosen(THERE, ["neutral/user"], "strong/user", "neutral/tool")).toEqual(["strong/user", "neutral/tool"]);
  });

  it("begin with the ranking that is open where nothing was asked for", () => {
    expect(chosen(THERE, ["strong/user"], "", "")).toEqual(["strong/user", "neutral/user"]);
    expect(chosen(THERE, ["strong/tool"], "", "")).toEqual(["neutral/user", "neutral/tool"]);
    expect(chosen(THERE, ["neutral/user"], "", "strong/user")).toEqual(["neutral/user", "strong/user"]);
    expect(chosen(THERE, ["strong/user"], "", "strong/user")).toEqual(["neutral/user", "strong/user"]);
  });

  it("are two, whatever is in the address", () => {
    expect(chosen(THERE, [], "strong/user", "strong/user")).toEqual(["strong/user", "neutral/user"]);
    expect(chosen(THERE, [], "<script>", "__proto__")).toEqual(["neutral/user", "neutral/tool"]);
  });
});
