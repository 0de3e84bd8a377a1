/**
 * The routes of a chart's arrows. Cards stand in rows of two; states without a way out have a row at the end. Arrows
 * run in the space between the cards, straight or with right angles, and never across a card. Arrows that lead to one
 * state from further away share a lane at the left, in the middle or at the right; no other lane is shared.
 */

export interface Box {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
  readonly row: number;
  /** The left or the right half of the chart; a final state may stand anywhere in its row. */
  readonly column: 0 | 1;
  readonly final: boolean;
}

export interface Wire {
  readonly key: string;
  readonly from: Box;
  readonly to: Box;
  /** The height of the row that the arrow begins at. */
  readonly y: number;
}

type Point = readonly [x: number, y: number];
type Side = 'left' | 'middle' | 'right';
type Routed = readonly [key: string, points: readonly Point[]];

const corner = 8;
const apart = 8;
/** From the cards to the first lane at the left and at the right, and from lane to lane. */
const [margin, laneWidth] = [14, 8];

/** An SVG path for each arrow, by its key. */
export function route(wires: readonly Wire[]): Map<string, string> {
  const space = new Space(wires);
  const distance = ({ from, to }: Wire): number => Math.abs(from.row - to.row);
  const toFinal = wires.filter(({ to }) => to.final);
  const others = wires.filter(({ to }) => !to.final);
  const routed: Routed[] = [
    ...across(
      others.filter((wire) => distance(wire) === 0),
      space,
    ),
    ...between(
      others.filter((wire) => distance(wire) === 1),
      space,
    ),
    ...around(
      [...others, ...toFinal].filter((wire) => distance(wire) > 1),
      space,
    ),
    ...down(
      toFinal.filter((wire) => distance(wire) === 1),
      space,
    ),
  ];
  return new Map(routed.map(([key, points]) => [key, pathOf(points)]));
}

/** The space between the cards, and the heights in it that are taken. */
class Space {
  readonly #boxes: readonly Box[];
  readonly #finals: readonly Box[];
  readonly #taken = new Map<string, number[]>();

  constructor(wires: readonly Wire[]) {
    this.#boxes = [...new Set(wires.flatMap(({ from, to }) => [from, to]))];
    this.#finals = this.#boxes.filter(({ final }) => final).toSorted((one, other) => other.left - one.left);
  }

  /** The value nearest to the wanted one that is so far from all that were taken in the same place before. */
  take(place: string, wanted: number, least: number, most: number, far = apart): number {
    const taken = this.#taken.get(place) ?? [];
    const steps = Array.from(
      { length: 60 },
      (_, index) => (index % 2 === 0 ? -1 : 1) * Math.ceil(index / 2) * (apart / 2),
    );
    const inside = Math.min(Math.max(wanted, least), most);
    const free =
      steps
        .map((step) => inside + step)
        .find((value) => value >= least && value <= most && taken.every((one) => Math.abs(one - value) >= far)) ??
      inside;
    this.#taken.set(place, [...taken, free]);
    return free;
  }

  /** From the lowest bottom of a row to the highest top of the next. */
  below(row: number): readonly [number, number] {
    const bottoms = this.#boxes.filter((box) => box.row === row).map(({ bottom }) => bottom);
    const tops = this.#boxes.filter((box) => box.row === row + 1).map(({ top }) => top);
    return [Math.max(...bottoms), Math.min(...tops)];
  }

  /** Returns the position of a lane on a side. */
  lane(side: Side, lane: number, lanes: number): number {
    const cards = this.#boxes.filter(({ final }) => !final);
    if (side === 'left') return Math.min(...cards.map(({ left }) => left)) - margin - lane * laneWidth;
    if (side === 'right') return Math.max(...cards.map(({ right }) => right)) + margin + lane * laneWidth;
    const left = Math.max(...cards.filter(({ column }) => column === 0).map(({ right }) => right));
    const right = Math.min(...cards.filter(({ column }) => column === 1).map(({ left }) => left));
    return left + ((right - left) * (lane + 1)) / (lanes + 1);
  }

  /**
   * Returns the point at which an arrow enters a final state: in its middle, and at a different height above the row
   * for each.
   */
  entrance(final: Box): Point {
    const [high, low] = this.below(final.row - 1);
    return [
      (final.left + final.right) / 2,
      high + ((low - high) * (this.#finals.indexOf(final) + 1)) / (this.#finals.length + 1),
    ];
  }
}

/** Neighbours in a row: straight, at the height of the row that leads there. */
function across(wires: readonly Wire[], space: Space): Routed[] {
  return wires.map(({ key, from, to, y }) => {
    const height = space.take(
      'middle',
      y,
      Math.max(from.top, to.top) + 20,
      Math.min(from.bottom, to.bottom) - 10,
      3 * apart,
    );
    return [
      key,
      from.column < to.column
        ? [
            [from.right, height],
            [to.left, height],
          ]
        : [
            [from.left, height],
            [to.right, height],
          ],
    ];
  });
}

/** The arrows in one vertical space that lead to one state. */
interface Trunk {
  readonly side: Side;
  readonly to: Box;
  readonly wires: readonly (Wire & { readonly start: number })[];
  /** The height at which it leaves the vertical space. */
  readonly end: number;
}

/**
 * Rows that are further apart: out at the side, along a vertical space, and in at the side; into a final state from
 * above.
 */
function around(wires: readonly Wire[], space: Space): Routed[] {
  const sides = ['left', 'middle', 'right'] as const;
  const trunksAt = (side: Side) => {
    const here = wires.filter((wire) => sideOf(wire) === side);
    return [...new Set(here.map(({ to }) => to))].map((to) =>
      trunkOf(
        side,
        to,
        here.filter((wire) => wire.to === to),
        space,
      ),
    );
  };
  return sides.flatMap((side) => {
    const lanes = lanesOf(trunksAt(side));
    return lanes.flatMap((lane, index) =>
      lane.flatMap(({ to, wires: leaving, end }) => {
        const x = space.lane(side, index, lanes.length);
        const near = ({ left, right }: Box): number => ((left + right) / 2 < x ? right : left);
        const ends: Point[] = to.final
          ? [
              [space.entrance(to)[0], end],
              [space.entrance(to)[0], to.top],
            ]
          : [[near(to), end]];
        return leaving.map(({ key, from, start }): Routed => [
          key,
          [[near(from), start], [x, start], [x, end], ...ends],
        ]);
      }),
    );
  });
}

function trunkOf(side: Side, to: Box, wires: readonly Wire[], space: Space): Trunk {
  const leaving = wires.map((wire) => ({
    ...wire,
    start: space.take(side, wire.y, wire.from.top + 10, wire.from.bottom - 10),
  }));
  return {
    side,
    to,
    wires: leaving,
    end: to.final ? space.entrance(to)[1] : space.take(side, to.top + 22, to.top + 10, to.bottom - 10),
  };
}

/** Along the outer side to a state of the same column, and between the columns to one of the other. */
function sideOf({ from, to }: Wire): Side {
  const outer = from.column === 0 ? 'left' : 'right';
  return from.column === to.column ? outer : 'middle';
}

/** Trunks that do not meet share a lane; short ones come first, so that long ones run around them. */
function lanesOf(trunks: readonly Trunk[]): Trunk[][] {
  const lanes: Trunk[][] = [];
  const reach = ({ wires, end }: Trunk): readonly [number, number] => [
    Math.min(end, ...wires.map(({ start }) => start)),
    Math.max(end, ...wires.map(({ start }) => start)),
  ];
  const length = (trunk: Trunk): number => reach(trunk)[1] - reach(trunk)[0];
  const meet = (one: Trunk, other: Trunk): boolean =>
    reach(one)[0] < reach(other)[1] + apart && reach(other)[0] < reach(one)[1] + apart;
  for (const trunk of trunks.toSorted((one, other) => length(one) - length(other))) {
    const free = lanes.find((lane) => !lane.some((one) => meet(one, trunk)));
    if (free === undefined) lanes.push([trunk]);
    else free.push(trunk);
  }
  return lanes;
}

/** Into a final state from the row above it: out at the bottom, straight where the state is below. */
function down(wires: readonly Wire[], space: Space): Routed[] {
  const place = `below ${wires[0]?.from.row}`;
  for (const { to } of wires) space.take(place, space.entrance(to)[0], -Infinity, Infinity);
  return wires.map(({ key, from, to }) => {
    const [x, y] = space.entrance(to);
    if (x > from.left + 16 && x < from.right - 16)
      return [
        key,
        [
          [x, from.bottom],
          [x, to.top],
        ],
      ];
    const start = space.take(place, x < from.left ? from.left + 24 : from.right - 24, from.left + 16, from.right - 16);
    return [
      key,
      [
        [start, from.bottom],
        [start, y],
        [x, y],
        [x, to.top],
      ],
    ];
  });
}

/**
 * Neighbouring rows: out at the bottom or the top, along the space between the rows, and in at the top or the bottom.
 */
function between(wires: readonly Wire[], space: Space): Routed[] {
  const places = new Map<string, number>();
  const crossing = wires.filter(({ from, to }) => from.column !== to.column);
  for (const gutter of new Set(wires.map(gutterOf))) {
    for (const column of [0, 1])
      place(
        wires.filter((wire) => gutterOf(wire) === gutter),
        column,
        places,
      );
  }
  return wires.map((wire) => {
    const [high, low] = space.below(gutterOf(wire));
    const [out, into] = wire.from.row < wire.to.row ? [wire.from.bottom, wire.to.top] : [wire.from.top, wire.to.bottom];
    const [start, end] = [places.get(placeKey(wire, wire.from.column))!, places.get(placeKey(wire, wire.to.column))!];
    if (wire.from.column === wire.to.column)
      return [
        wire.key,
        [
          [start, out],
          [start, into],
        ],
      ];
    const own = crossing.filter((one) => gutterOf(one) === gutterOf(wire));
    const track = high + ((low - high) * (own.indexOf(wire) + 1)) / (own.length + 1);
    return [
      wire.key,
      [
        [start, out],
        [start, track],
        [end, track],
        [end, into],
      ],
    ];
  });
}

const gutterOf = ({ from, to }: Wire): number => Math.min(from.row, to.row);
const placeKey = ({ key }: Wire, column: number): string => `${key} ${column}`;

/** Spreads the arrows of a column evenly along the cards: straight ones outside, crossing ones inside. */
function place(wires: readonly Wire[], column: number, places: Map<string, number>): void {
  const here = wires.filter(({ from, to }) => from.column === column || to.column === column);
  const straight = here.filter(({ from, to }) => from.column === to.column);
  const crossing = here.filter(({ from, to }) => from.column !== to.column);
  for (const [index, wire] of (column === 0 ? [...straight, ...crossing] : [...crossing, ...straight]).entries()) {
    const box = wire.from.column === column ? wire.from : wire.to;
    places.set(placeKey(wire, column), box.left + ((box.right - box.left) * (index + 1)) / (here.length + 1));
  }
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
