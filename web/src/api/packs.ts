/** A static site has its answers in packs: lines of path, tab and JSON, sorted by path (`viewer/static_site.py`). */

/** Whether the page is that of a static site. */
export function isPacked(): boolean {
  return document.querySelector("meta[name=packs]") !== null;
}

/** The number of the pack that has *path*, if one does; *firsts*: where each begins. */
export function packOf(path: string, firsts: readonly string[]): number {
  return firsts.findLastIndex((first) => first <= inside(path));
}

/** The answer at *path*, in *pack*; a table is a string there. null: nothing is there. */
export function lineIn(pack: string, path: string): string | null {
  const head = `${inside(path)}\t`;
  const line = pack.split("\n").find((line) => line.startsWith(head));
  if (line === undefined) return null;
  const answer = line.slice(head.length);
  return path.endsWith(".json") ? answer : (JSON.parse(answer) as string);
}

function inside(path: string): string {
  return path.replace(/^api\//, "");
}

/** The text of a pack. Where the host has said that it is compressed, the browser has unpacked it already. */
export async function unpacked(response: Response): Promise<string> {
  const bytes = await response.arrayBuffer();
  const [first, second] = new Uint8Array(bytes);
  if (first !== 0x1f || second !== 0x8b) return new TextDecoder().decode(bytes);
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
