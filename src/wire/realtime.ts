/**
 * The events that an OpenAI Realtime client sends, as far as they are taken (contract 18), and the query of its socket.
 */
import { Type, type Static } from 'typebox';
import { limits } from '../base/limits.ts';
import { named, Nullable, Strings, Text } from './basics.ts';

export const RealtimeQuery = Type.Object({
  model: Text(limits.nameCharactersMax, 1, "An assistant's id or alias."),
  session_id: Type.Optional(
    Text(limits.nameCharactersMax, 1, 'The session that the call goes on in; a new one if absent.'),
  ),
});
export type RealtimeQuery = Static<typeof RealtimeQuery>;

const id = () => Type.String({ minLength: 1, maxLength: limits.nameCharactersMax });
const format = Type.Optional(
  Type.Object({ type: Strings(['audio/pcm', 'audio/pcmu', 'audio/pcma']), rate: Type.Optional(Type.Literal(24_000)) }),
);

/** Null: the client decides when the person's turn ends. */
const turnDetection = Type.Optional(
  Nullable(
    Type.Object({
      type: Type.Optional(Strings(['server_vad', 'semantic_vad'])),
      silence_duration_ms: Type.Optional(Type.Number({ minimum: 0 })),
      create_response: Type.Optional(Type.Boolean()),
      interrupt_response: Type.Optional(Type.Boolean()),
    }),
  ),
);

export const RealtimeEvents = {
  'session.update': named(
    'RealtimeSessionUpdate',
    Type.Object({
      session: Type.Object({
        audio: Type.Optional(
          Type.Object({
            input: Type.Optional(Type.Object({ format, turn_detection: turnDetection })),
            output: Type.Optional(Type.Object({ format })),
          }),
        ),
      }),
    }),
  ),
  'input_audio_buffer.append': named('RealtimeAudioAppend', Type.Object({ audio: Type.String() })),
  'input_audio_buffer.commit': named('RealtimeAudioCommit', Type.Object({})),
  'input_audio_buffer.clear': named('RealtimeAudioClear', Type.Object({})),
  'conversation.item.create': named(
    'RealtimeItemCreate',
    Type.Object({
      item: Type.Object({
        id: Type.Optional(id()),
        type: Type.Literal('message'),
        role: Type.Literal('user'),
        content: Type.Array(Type.Object({ type: Type.Literal('input_text'), text: Type.String() }), {
          minItems: 1,
          maxItems: limits.realtimePartsMax,
        }),
      }),
    }),
  ),
  'conversation.item.truncate': named(
    'RealtimeItemTruncate',
    Type.Object({ item_id: id(), audio_end_ms: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }) }),
  ),
  'conversation.item.retrieve': named('RealtimeItemRetrieve', Type.Object({ item_id: id() })),
  'response.create': named('RealtimeResponseCreate', Type.Object({})),
  'response.cancel': named('RealtimeResponseCancel', Type.Object({ response_id: Type.Optional(Nullable(id())) })),
};
export type RealtimeUpdate = Static<(typeof RealtimeEvents)['session.update']>['session'];

/**
 * Fields of the API's beta that have another name, or another place, in the API as released, by the event and its
 * object.
 */
const betaFields: Readonly<Record<string, readonly [object: string, names: readonly string[]]>> = {
  'session.update': [
    'session',
    [
      'modalities',
      'input_audio_format',
      'output_audio_format',
      'input_audio_transcription',
      'input_audio_noise_reduction',
      'turn_detection',
      'max_response_output_tokens',
      'temperature',
    ],
  ],
  'response.create': ['response', ['modalities', 'output_audio_format', 'max_response_output_tokens', 'temperature']],
};

/** The path of the first field of the beta in an event, such as `session.modalities`; null without one. */
export function betaFieldOf(event: Readonly<Record<string, unknown>>): string | null {
  const [object, names] =
    typeof event['type'] === 'string' && Object.hasOwn(betaFields, event['type'])
      ? betaFields[event['type']]!
      : ['', []];
  const within = event[object];
  const name =
    typeof within === 'object' && within !== null ? names.find((name) => Object.hasOwn(within, name)) : undefined;
  return name === undefined ? null : `${object}.${name}`;
}
