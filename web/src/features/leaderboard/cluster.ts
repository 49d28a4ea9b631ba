/** Where the numbers of points stand: those that lie on each other share a place, and no text covers another one. */

export type Point = readonly [x: number, y: number];

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

interface PointLabel {
  members: readonly number[]; // places in the list of points
  text: string; // their numbers, from 1
  x: number;
  y: number;
  anchor: "start" | "end";
}

const NEAR = 9; // points that are closer are one
const RADIUS = 6;
const MOST = 5; // numbers in one text
const [LETTER, LINE] = [7, 12]; // size of a digit
const PLACES: readonly Point[] = [8, 16].flatMap((away): Point[] => [
  [away, 2 - away],
  [-away, 2 - away],
  [away, away + 6],
  [-away, away + 6],
]); // of a text, seen from its point

/** The numbers of *points*, within *frame* where there is room. */
export function cluster(points: readonly Point[], frame: Box): PointLabel[] {
  const groups: { at: Point; members: number[] }[] = [];
  points.forEach((at, place) => {
    const near = groups.find((group) => Math.hypot(group.at[0] - at[0], group.at[1] - at[1]) < NEAR);
    if (near) near.members.push(place);
    else groups.push({ at, members: [place] });
  });
  const taken = groups.map(({ at: [x, y] }) => ({
    left: x - RADIUS,
    right: x + RADIUS,
    top: y - RADIUS,
    bottom: y + RADIUS,
  }));
  return groups.map(({ at, members }) => {
    const text = numbers(members);
    const wide = LETTER * text.length;
    const boxes = PLACES.map((place) => boxAt(at, place, wide));
    const inside = boxes.filter((box) => within(box, frame));
    const free = inside.find((box) => !taken.some((other) => overlap(box, other)));
    const box = free ?? inside[0] ?? boxAt(at, [8, -6], wide);
    taken.push(box);
    const right = box.left > at[0];
    return { members, text, x: right ? box.left : box.right, y: box.bottom - 2, anchor: right ? "start" : "end" };
  });
}

function numbers(members: readonly number[]): string {
  const shown = members.slice(0, MOST).map((place) => String(place + 1));
  const more = members.length - shown.length;
  return [...shown, ...(more ? [`+${more}`] : [])].join(" ");
}

function boxAt([x, y]: Point, [dx, dy]: Point, wide: number): Box {
  const left = dx > 0 ? x + dx : x + dx - wide;
  return { left, right: left + wide, top: y + dy + 2 - LINE, bottom: y + dy + 2 };
}

function within(box: Box, frame: Box): boolean {
  return box.left >= frame.left && box.right <= frame.right && box.top >= frame.top && box.bottom <= frame.bottom;
}

function overlap(one: Box, other: Box): boolean {
  return one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
}
