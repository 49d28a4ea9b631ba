import { describe, expect, it } from "vitest";
import { configurationPair } from "./Configurations";

const ALL = ["neutral/user", "neutral/tool", "strong/user"];

describe("the two configurations that are compared", () => {
  it("are those that were asked for", () => {
    expect(configurationPair(ALL, ["neutral/user"], "strong/user", "neutral/tool")).toEqual([
      "strong/user",
      "neutral/tool",
    ]);
  });

  it("begin with the ranking that is open where nothing was asked for", () => {
    expect(configurationPair(ALL, ["strong/user"], "", "")).toEqual(["strong/user", "neutral/user"]);
    expect(configurationPair(ALL, ["strong/tool"], "", "")).toEqual(["neutral/user", "neutral/tool"]);
    expect(configurationPair(ALL, ["neutral/user"], "", "strong/user")).toEqual(["neutral/user", "strong/user"]);
    expect(configurationPair(ALL, ["strong/user"], "", "strong/user")).toEqual(["neutral/user", "strong/user"]);
  });

  it("are two, whatever is in the address", () => {
    expect(configurationPair(ALL, [], "strong/user", "strong/user")).toEqual(["strong/user", "neutral/user"]);
    expect(configurationPair(ALL, [], "<script>", "__proto__")).toEqual(["neutral/user", "neutral/tool"]);
  });
});
