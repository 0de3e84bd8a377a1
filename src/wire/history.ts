/** The history of an actor: the steps that changed its state (contract 9, "Details of history, feed and desk"). */
import { Type, type Static } from 'typebox';
import { listOf, mapOf, named, Nullable, pageQuery, Strings, UnixSeconds } from './basics.ts';

export const HistoryQuery = Type.Object({
  ...pageQuery('^[0-9]{1,12}(\\.[0-9]{1,12})?$', 'desc', '`asc` is oldest first, `desc` newest first.'),
  refused: Type.Optional(Type.Boolean({ description: '`true`: only refused events; `false`: only the others.' })),
});

const Typed = () =>
  Type.Unsafe<{ type: string }>({
    type: 'object',
    required: ['type'],
    properties: { type: { type: 'string' } },
    additionalProperties: true,
  });

export const By = named(
  'By',
  Type.Object({ kind: Strings(['key', 'visitor', 'person', 'operator']), id: Type.String(), name: Type.String() }),
);

export const HistoryItem = named(
  'HistoryItem',
  Type.Object({
    seq: Type.Integer({
      minimum: 1,
      description:
        'Counts committed steps from 1; a refusal, and a recovery of a key, commit nothing and have that of the step before them.',
    }),
    at: UnixSeconds(),
    event: Type.String({ description: "The event's name; `create` for the step that made it." }),
    from: Nullable(Type.String({ description: 'The state before; null for the step that made it.' })),
    to: Type.String(),
    outcomes: Type.Array(Typed(), {
      description: "The machine's outcomes, in order; that of a refusal has the `code`.",
    }),
    refused: Type.Boolean(),
    request_id: Nullable(Type.String({ description: 'The request that caused it; null for a deadline or a restart.' })),
    by: Nullable(By),
    count: Type.Integer({
      minimum: 1,
      description: 'Equal refusals in a row are one item, with the time and the request of the last.',
    }),
    data: Nullable(
      Object.assign(Typed(), {
        description:
          'The event with its fields, as the machine took it, `at` in milliseconds; null for a refusal that committed nothing.',
      }),
    ),
    context: Nullable(
      Object.assign(mapOf(Type.Unknown()), {
        description: "The machine's context after it; null where it cannot be worked out.",
      }),
    ),
    version: Type.Integer({ description: 'Of the machine that took the event.' }),
  }),
);
export type HistoryItem = Static<typeof HistoryItem>;
export const HistoryList = listOf('HistoryList', HistoryItem);
