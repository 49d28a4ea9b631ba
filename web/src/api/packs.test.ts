import { describe, expect, it } from "vitest";
import { lineIn, packOf, unpacked } from "./packs";

const PACK = 'boards/b.csv\t"a,b\\r\\n"\nboards/b.json\t{"b":1}\n';

describe("packs", () => {
  it("has a path in the last pack that does not begin behind it", () => {
    const firsts = ["", "boards/c", "t", "transcripts/3f"];
    const paths = ["boards/b.json", "boards/c.json", "transcripts/3e.json", "transcripts/3f.json"];
    expect(paths.map((path) => packOf(`api/${path}`, firsts))).toEqual([0, 1, 2, 3]);
  });

  it("finds whole paths, and tables as text", () => {
    expect(lineIn(PACK, "api/boards/b.json")).toBe('{"b":1}');
    expect(lineIn(PACK, "api/boards/b.csv")).toBe("a,b\r\n");
    expect(lineIn(PACK, "api/boards/b")).toBeNull();
    expect(lineIn(PACK, "api/b.json")).toBeNull();
  });

  it("is unpacked by the page, unless the browser has done it", async () => {
    const packed = new Blob([PACK]).stream().pipeThrough(new CompressionStream("gzip"));
    expect(await unpacked(new Response(packed))).toBe(PACK);
    expect(await unpacked(new Response(PACK))).toBe(PACK);
  });
});
