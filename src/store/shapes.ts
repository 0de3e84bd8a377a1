/**
 * Records as lists of values. A row that each turn writes leaves the names of its fields out: it is half as long and
 * packed twice as fast. The names are written here instead, so a field keeps its place for ever and a new one is added
 * at the end; a row of an earlier version is then a shorter list. A record with a field that has no place here is
 * packed with its names, so nothing is lost.
 */
import type { FieldNames } from './packer.ts';

type Field = string | readonly [name: string, shape: RecordShape];

type Fields = Record<string, unknown>;

export class RecordShape implements FieldNames {
  readonly names: readonly string[];
  readonly within: readonly (RecordShape | null)[];

  constructor(...fields: readonly Field[]) {
    this.names = fields.map((field) => (typeof field === 'string' ? field : field[0]));
    this.within = fields.map((field) => (typeof field === 'string' ? null : field[1]));
  }

  /** The record with its fields in the order of the shape; as it is if it has a field that is not in the shape. */
  inOrder<T extends object>(record: T): T {
    return (this.#ordered(record) as T | null) ?? record;
  }

  #ordered(record: unknown): object | null {
    if (typeof record !== 'object' || record === null || Array.isArray(record)) return null;
    const ordered: Fields = {};
    for (const [index, name] of this.names.entries()) {
      const value = (record as Fields)[name];
      if (value === undefined) continue;
      const shape = this.within[index]!;
      ordered[name] = shape === null || value === null ? value : shape.#ordered(value);
      if (ordered[name] === null && value !== null) return null;
    }
    const present = Object.values(record).filter((value) => value !== undefined);
    return present.length === Object.keys(ordered).length ? ordered : null;
  }

  /** Throws if a later version, which has more fields, wrote the values: they would be lost with the next write. */
  recordOf(values: readonly unknown[]): object {
    if (values.length > this.names.length)
      throw new Error(`The row has a field after ${this.names.at(-1)}, which this version does not know.`);
    const record: Fields = {};
    for (let index = 0; index < values.length; index++) {
      const [value, shape] = [values[index], this.within[index] ?? null];
      if (value !== undefined)
        record[this.names[index]!] = shape === null || value === null ? value : shape.recordOf(value as unknown[]);
    }
    return record;
  }
}

const fence = new RecordShape('epoch', 'owner');
const answer = new RecordShape(['fence', fence], 'version');
const context = new RecordShape('expiresAt', 'endedAt', 'activeTurnId');
const machine = new RecordShape('version', 'state', ['context', context]);
const place = new RecordShape('workspaceId', 'sessionId', 'turnId');
export const sessionShape = new RecordShape(
  ...[
    'id',
    'workspaceId',
    'assistantId',
    'channel',
    'keyId',
    'visitor',
    'metadata',
    'maxCallSeconds',
    'createdAt',
    'expiresAt',
    'lastActivityAt',
    'messageCount',
  ],
  ['machine', machine],
  ...[
    'mark',
    'link',
    'historyLeftOut',
    'call',
    'pending',
    'opening',
    'assistantVersion',
    'eventCount',
    'withdrawnEvents',
    'recalls',
    'attendance',
    'isForeign',
    'turnEnd',
  ],
);
const model = new RecordShape('provider', 'name', 'fallback');
const turn = new RecordShape(
  ...[
    'id',
    'sessionId',
    'messageId',
    'messageIndex',
    'status',
    'stopReason',
    'errorCode',
    'inputTokens',
    'outputTokens',
    'createdAt',
    'endedAt',
    'link',
    'spoken',
    'answered',
    'unasked',
    'calls',
    'cachedInputTokens',
  ],
  ...([['model', model]] as const),
  ...['traceparent', 'reserved', 'assistantVersion', 'sequence', 'certain', 'endSequence'],
);

const message = new RecordShape(
  'id',
  'turnId',
  'role',
  'content',
  'status',
  'stopReason',
  'errorCode',
  'createdAt',
  'voice',
  'toolCalls',
  'assistantVersion',
  'visitorId',
  'by',
  'attendance',
  'sequence',
  'duringTurnId',
);

const moves = new RecordShape('begun', 'ended');

/** The shapes of an embedded store's rows. */
export const rowShapes = {
  session: new RecordShape(['session', sessionShape], 'version', 'withdrawn'),
  turn: new RecordShape(
    ['turn', turn],
    ['begun', answer],
    ['finished', answer],
    'claimed',
    ['moves', moves],
    'feedback',
  ),
  message,
  flight: new RecordShape(
    ...([
      ['place', place],
      ['fence', fence],
      'leaseUntilMs',
      'slotUntilMs',
      'slotsMax',
      'memory',
      'stop',
      'slotName',
      'seizedUntilMs',
    ] as const),
    ...([['turn', turn], ['begun', answer], ['said', message], 'move', 'released', 'calls', 'amended'] as const),
  ),
  exchange: new RecordShape(['said', message], ['reply', message]),
  moves,
} as const;

export type ShapeName = keyof typeof rowShapes;

/** Shapes by the number that a row has for its own: a shape keeps its number for ever. */
export const shapeNumbers: Readonly<Record<ShapeName, number>> = {
  session: 0,
  turn: 1,
  message: 2,
  flight: 3,
  exchange: 4,
  moves: 5,
};
export const numberedShapes: ReadonlyMap<number, RecordShape> = new Map(
  Object.entries(shapeNumbers).map(([name, number]) => [number, rowShapes[name as ShapeName]]),
);
