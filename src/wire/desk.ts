/** The shapes of the console's API beyond its records (contract 9, "Details of history, feed and desk"). */
import { Type, type Static } from 'typebox';
import { limits } from '../base/limits.ts';
import { indexQuery, listOf, mapOf, messagesQuery, named, Nullable, Strings, Text, UnixSeconds } from './basics.ts';
import {
  channels,
  MessageView,
  SessionsQuery,
  SessionView,
  SpeechBody,
  TranscriptQuery,
  UsageQuery,
} from './conversation.ts';

/** The cursors are indexes, as in a transcript. */
export const MachinesQuery = Type.Object(messagesQuery());

export const MachineView = named(
  'Machine',
  Type.Object({
    object: Type.Literal('machine'),
    kind: Strings([
      'session',
      'attendance',
      'turn',
      'call',
      'reply',
      'key',
      'workspace',
      'assistant',
      'release',
      'run',
      'socket',
      'visitor',
    ]),
    version: Type.Integer({ description: "The version of the machine, which an actor's stored state bears." }),
  }),
);
export type MachineView = Static<typeof MachineView>;
export const MachineList = listOf('MachineList', MachineView);

const nodes = (description: string) => Object.assign(mapOf(Type.Unknown()), { description });

export const MachineConfiguration = named(
  'MachineConfiguration',
  Type.Object({
    id: Type.String(),
    initial: Type.String({ description: 'The state that an actor begins in.' }),
    states: nodes('By name: the transitions of each state by event, with guards and actions by their names.'),
    on: nodes('The transitions of every state, by event.'),
  }),
);

export const TrialSpeechBody = named(
  'TrialSpeech',
  Type.Object({ text: SpeechBody.properties.text, voice: SpeechBody.properties.voice }),
);
export type TrialSpeechBody = Static<typeof TrialSpeechBody>;

export const TrialVoicesQuery = Type.Object(indexQuery());

export const ConsoleSessionsQuery = Type.Object({
  ...SessionsQuery.properties,
  channel: Type.Optional(Strings(channels, 'Only sessions of this channel; `console` are trials.')),
  key_id: Type.Optional(Type.String({ description: 'Only sessions that this key made.' })),
  from: Type.Optional(Type.Integer({ minimum: 0, description: 'Only sessions created at this Unix second or later.' })),
  to: Type.Optional(Type.Integer({ minimum: 0, description: 'Only sessions created before this Unix second.' })),
  q: Type.Optional(
    Text(
      limits.nameCharactersMax,
      0,
      "The beginning of a session's id, or in any case that of one of its visitor's values.",
    ),
  ),
  first_words: Type.Optional(Type.Boolean({ description: '`true`: each session has `first_words`.' })),
  total: Type.Optional(Type.Boolean({ description: '`true`: the answer has `total`.' })),
});
export type ConsoleSessionsQuery = Static<typeof ConsoleSessionsQuery>;

export const ConsoleSessionView = named(
  'ConsoleSession',
  Type.Object({
    ...SessionView.properties,
    link_visitor_id: Type.Optional(
      Type.String({ description: 'The visitor of the link or the widget who holds the session. Absent without one.' }),
    ),
    history_left_out: Type.Optional(
      Type.Integer({
        description:
          'How many of the messages before it the model of the last turn was not sent, because there were too many. Absent where it was sent all of them: the session is then as its key sees it.',
      }),
    ),
  }),
);

const ListedSessionView = named(
  'ListedSession',
  Type.Object({
    ...SessionView.properties,
    first_words: Type.Optional(
      Nullable(
        Type.String({
          description: `With \`first_words=true\`: the beginning of the first message of a user, ${limits.openingCharactersMax} characters at most in one line. Null before it, and for sessions of versions that did not keep it.`,
        }),
      ),
    ),
  }),
);

export const ConsoleSessionList = named(
  'ConsoleSessionList',
  Type.Object({
    ...listOf('', ListedSessionView).properties,
    total: Type.Optional(
      Nullable(
        Type.Integer({
          description: `With \`total=true\`: how many sessions match; null beyond ${limits.sessionsCountedMax}.`,
        }),
      ),
    ),
  }),
);

const format = <const T extends string>(values: readonly T[], description: string) => ({
  format: Type.Optional(Strings(values, description)),
});

export const ConsoleTranscriptQuery = Type.Object({
  ...TranscriptQuery.properties,
  ...format(
    ['json', 'markdown'],
    '`json` by default; `markdown` is the whole transcript, oldest first, whatever page is requested.',
  ),
});
export const ConsoleUsageQuery = Type.Object({
  ...UsageQuery.properties,
  key_id: Type.Optional(Type.String({ description: 'Only usage of this key, and of sessions that it made.' })),
  ...format(['json', 'csv'], '`json` by default; `csv` has a row for each bucket.'),
});

const measured = (description: string, type: typeof Type.Integer | typeof Type.Number = Type.Integer) =>
  Nullable(type({ description }));

export const LoadView = named(
  'Load',
  Type.Object({
    object: Type.Literal('load'),
    step_seconds: Type.Integer(),
    data: Type.Array(
      Type.Object(
        {
          start: UnixSeconds(),
          requests: measured('Requests answered.'),
          refused: measured('Requests that were answered with 429.'),
          turns_in_flight: measured('At the end of the step.'),
          open_calls: measured('At the end of the step.'),
          events: measured('Events sent on streams.'),
          first_output_p50_ms: measured('From a message to the first output, within 5 %.', Type.Number),
          first_output_p99_ms: measured('The same for all but one in a hundred.', Type.Number),
          voice_to_voice_p50_ms: measured(
            'In calls, from the last voice of a person to the first audio of the reply, within 5 %.',
            Type.Number,
          ),
          voice_to_voice_p99_ms: measured('The same for all but one in a hundred.', Type.Number),
          loop_lag_ms: measured('Mean delay of the event loop of the slowest process.', Type.Number),
          memory_bytes: measured('At the end of the step.'),
          store_ms: measured('Mean time of a step of the store.', Type.Number),
        },
        { description: 'Null where nothing was measured.' },
      ),
      { description: 'The last hour, oldest first; the last step is under way.' },
    ),
  }),
);

export const RotateKeyBody = named(
  'RotateKey',
  Type.Object({
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: limits.keyOverlapSecondsMax,
        default: 0,
        description: 'How long the old key works on, unless its own date comes first.',
      }),
    ),
  }),
);
export type RotateKeyBody = Static<typeof RotateKeyBody>;

export const CredentialTestView = named(
  'CredentialTest',
  Type.Object({
    object: Type.Literal('credential_test'),
    result: Strings(['works', 'refused', 'unknown']),
    message: Type.String({ description: 'A fixed sentence that says why.' }),
  }),
);
export type CredentialTestView = Static<typeof CredentialTestView>;

/** A message of a person of the desk (contract 23). */
export const PersonMessageBody = named('PersonMessage', Type.Object({ text: Text(limits.messageCharactersMax) }));
export type PersonMessageBody = Static<typeof PersonMessageBody>;

export const DeskQuery = Type.Object(indexQuery());
const DeskSessionView = named(
  'DeskSession',
  Type.Object({
    ...ConsoleSessionView.properties,
    reason: Nullable(Type.String({ description: 'Why the visitor waits; null without a reason.' })),
    last_message: Nullable(MessageView),
  }),
);
export const DeskSessionList = listOf('DeskSessionList', DeskSessionView);
