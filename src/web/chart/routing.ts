/**
 * Where the arrows of a chart run. Cards stand in rows of two; arrows run in the space between them, straight or with right angles, and
 * never across a card.
 */

export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly row: number;
  readonly column: number;
}

export interface Wire {
  readonly key: string;
  readonly from: Box;
  readonly to: Box;
  /** The height of the row that the arrow begins at. */
  readonly y: number;
}

type Point = readonly [x: number, y: number];

const corner = 8;
const apart = 14;

/** An SVG path for each arrow, by its key. */
export function route(wires: readonly Wire[]): Map<string, string> {
  const paths = new Map<string, string>();
  const beside = wires.filter(({ from, to }) => from.row === to.row);
  const next = wires.filter(({ from, to }) => Math.abs(from.row - to.row) === 1);
  const far = wires.filter(({ from, to }) => Math.abs(from.row - to.row) > 1);
  for (const [key, points] of [...across(beside), ...around(far, beside), ...between(next)]) paths.set(key, pathOf(points));
  return paths;
}

/** Neighbours in a row: straight, at the height of the row that leads there. */
function across(wires: readonly Wire[]): [string, Point[]][] {
  const taken: { readonly row: number; readonly y: number }[] = [];
  return wires.map(({ key, from, to, y }) => {
    const least = Math.max(from.top, to.top) + 20;
    const most = Math.min(from.bottom, to.bottom) - 10;
    let height = Math.min(Math.max(y, least), most);
    const near = () => taken.some((one) => one.row === from.row && Math.abs(one.y - height) < apart);
    for (let tries = 0; near() && tries < 8; tries++) height = height + apart <= most ? height + apart : least + (tries * apart) / 2;
    taken.push({ row: from.row, y: height });
    return [key, from.column < to.column ? [[from.right, height], [to.left, height]] : [[from.left, height], [to.right, height]]];
  });
}

/** Rows that are further apart: out at the side, along the outer margin or between the columns, and in at the side. */
function around(wires: readonly Wire[], beside: readonly Wire[]): [string, Point[]][] {
  const lanes = new Map<string, number>();
  const arrivals = new Map<Box, number>();
  return wires.map(({ key, from, to, y }) => {
    const same = from.column === to.column;
    const outer = same ? (from.column === 0 ? 'left' : 'right') : 'middle';
    const lane = lanes.get(outer) ?? 0;
    lanes.set(outer, lane + 1);
    const arrival = arrivals.get(to) ?? 0;
    arrivals.set(to, arrival + 1);
    const end = to.top + 22 + arrival * apart;
    const leaves = same ? from.column === 1 : from.column === 0;
    const start = leaves ? from.right : from.left;
    const out = same ? (from.column === 0 ? from.left - 14 - lane * 8 : from.right + 14 + lane * 8) : leaves ? from.right + 24 + lane * 12 : from.left - 24 - lane * 12;
    const reach = same ? (from.column === 0 ? to.left : to.right) : leaves ? to.left : to.right;
    const free = beside.some((one) => one.from.row === from.row) && !same ? Math.min(y + 7, from.bottom - 10) : y;
    return [key, [[start, free], [out, free], [out, end], [reach, end]]];
  });
}

/** Neighbouring rows: out at the bottom or the top, along the space between the rows, and in at the top or the bottom. */
function between(wires: readonly Wire[]): [string, Point[]][] {
  const places = new Map<string, number>();
  const crossing = wires.filter(({ from, to }) => from.column !== to.column);
  for (const gutter of new Set(wires.map(gutterOf))) {
    for (const column of [0, 1]) place(wires.filter((wire) => gutterOf(wire) === gutter), column, places);
  }
  return wires.map((wire) => {
    const [high, low] = spaceOf(wire, wires);
    const [out, into] = wire.from.row < wire.to.row ? [wire.from.bottom, wire.to.top] : [wire.from.top, wire.to.bottom];
    const [start, end] = [places.get(placeKey(wire, wire.from.column))!, places.get(placeKey(wire, wire.to.column))!];
    if (wire.from.column === wire.to.column) return [wire.key, [[start, out], [start, into]]];
    const own = crossing.filter((one) => gutterOf(one) === gutterOf(wire));
    const track = high + ((low - high) * (own.indexOf(wire) + 1)) / (own.length + 1);
    return [wire.key, [[start, out], [start, track], [end, track], [end, into]]];
  });
}

const gutterOf = ({ from, to }: Wire): number => Math.min(from.row, to.row);
const placeKey = ({ key }: Wire, column: number): string => `${key} ${column}`;

/** In each column every arrow has a place of its own, evenly along the cards: straight ones outside, those that cross over inside. */
function place(wires: readonly Wire[], column: number, places: Map<string, number>): void {
  const here = wires.filter(({ from, to }) => from.column === column || to.column === column);
  const straight = here.filter(({ from, to }) => from.column === to.column);
  const crossing = here.filter(({ from, to }) => from.column !== to.column);
  for (const [index, wire] of (column === 0 ? [...straight, ...crossing] : [...crossing, ...straight]).entries()) {
    const box = wire.from.column === column ? wire.from : wire.to;
    places.set(placeKey(wire, column), box.left + ((box.right - box.left) * (index + 1)) / (here.length + 1));
  }
}

/** The space between two rows: from the lowest bottom above to the highest top below. */
function spaceOf(wire: Wire, wires: readonly Wire[]): readonly [number, number] {
  const above = gutterOf(wire);
  const boxes = wires.flatMap(({ from, to }) => [from, to]);
  const bottoms = boxes.filter(({ row }) => row === above).map(({ bottom }) => bottom);
  const tops = boxes.filter(({ row }) => row === above + 1).map(({ top }) => top);
  return [Math.max(...bottoms), Math.min(...tops)];
}

/** A path along the points, with rounded corners. */
function pathOf(points: readonly Point[]): string {
  const [first, ...rest] = points;
  const parts = [`M${round(first![0])} ${round(first![1])}`];
  for (const [index, point] of rest.entries()) {
    const before = points[index]!;
    const behind = rest[index + 1];
    if (behind === undefined) {
      parts.push(`L${round(point[0])} ${round(point[1])}`);
      continue;
    }
    const radius = Math.min(corner, distance(before, point) / 2, distance(point, behind) / 2);
    const [a, b] = [toward(point, before, radius), toward(point, behind, radius)];
    parts.push(`L${round(a[0])} ${round(a[1])}Q${round(point[0])} ${round(point[1])} ${round(b[0])} ${round(b[1])}`);
  }
  return parts.join('');
}

const round = (value: number): number => Math.round(value * 2) / 2;
const distance = ([ax, ay]: Point, [bx, by]: Point): number => Math.hypot(bx - ax, by - ay);
function toward(from: Point, to: Point, by: number): Point {
  const length = distance(from, to) || 1;
  return [from[0] + ((to[0] - from[0]) * by) / length, from[1] + ((to[1] - from[1]) * by) / length];
}
