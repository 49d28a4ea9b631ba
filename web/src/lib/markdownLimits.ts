/**
 * Which texts are set as Markdown. Its parser takes time with the square of what is open at once, and its tree is
 * walked by recursion: what is deeper or longer than anybody writes is shown as it came. Linear in the text's length.
 */

const LOOKS_FORMATTED = /[*_`#>|[\]]|^\s*(?:[-+]|\d+[.)])\s/m;
const LONGEST = 40_000; // characters
const MOST_LINES = 2000;
const MOST_SIGNS = 500; // of emphasis, links, code and HTML in one paragraph
const MOST_LINED = 200; // lines of = or - alone, each of which may make a heading of what is above it
const DEEP = /^[ \t]*(?:>[ \t]*|(?:[-+*]|\d{1,9}[.)])[ \t]+){20}/m; // quotes and lists in quotes and lists

/** Whether *text* is to be shown as Markdown. */
export function isFormatted(text: string): boolean {
  if (text.length > LONGEST || !LOOKS_FORMATTED.test(text) || DEEP.test(text)) return false;
  const lines = text.split(/\r\n|\r|\n/);
  if (lines.length > MOST_LINES) return false;
  let [signs, lined] = [0, 0];
  for (const line of lines) {
    const bare = line.trim();
    if (/^(?:=+|-+)$/.test(bare)) lined += 1;
    signs = bare ? signs + (bare.match(/[[\]*_`<&!]/g)?.length ?? 0) : 0;
    if (signs > MOST_SIGNS || lined > MOST_LINED) return false;
  }
  return true;
}
