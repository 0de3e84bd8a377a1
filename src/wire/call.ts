/** The shapes of a call: its token, its query, and the messages both ways (contract 18). */
import { Type, type Static } from 'typebox';
import { limits } from '../base/limits.ts';
import { encodings } from '../base/audio-formats.ts';
import { named, Nullable, Strings, Text, UnixSeconds } from './basics.ts';
import { audioSettings, TranscriptionEvents } from './conversation.ts';

export const CreateCallTokenBody = named(
  'CreateCallToken',
  Type.Object({ session_id: Text(limits.bodyBytesMax, 1, 'The session that is talked on.') }),
);
export type CreateCallTokenBody = Static<typeof CreateCallTokenBody>;

export const CallTokenView = named(
  'CallToken',
  Type.Object({
    object: Type.Literal('call_token'),
    token: Type.String({ pattern: '^tok_[\\w-]+$' }),
    url: Type.String({ description: 'Where it opens a call.' }),
    expires_at: UnixSeconds(),
  }),
);

const outputEncodings = encodings.filter((each) => each !== 'opus');
const { silence_ms: _, ...listening } = audioSettings;
const settings = {
  ...listening,
  turn_silence_ms: Type.Optional(
    Type.Integer({
      minimum: 200,
      maximum: 3000,
      default: 500,
      description: "Silence that ends a person's turn; 2.4 times that, 3 s at most, where the text goes on.",
    }),
  ),
  barge_in: Type.Optional(Strings(['words', 'voice', 'off'], 'How speech over a reply cuts it; `words` if absent.')),
};

export const CallQuery = Type.Object({
  token: Type.Optional(Type.String({ description: 'The token; the subprotocol `token.TOKEN` will do too.' })),
  ...settings,
  output_encoding: Type.Optional(Strings(outputEncodings, '`pcm_s16le` if absent.')),
  output_sample_rate: Type.Optional(
    Type.Integer({
      minimum: 8000,
      maximum: 48_000,
      description: 'Hertz; 16000 if absent, 8000 with mu-law and A-law.',
    }),
  ),
  ahead_ms: Type.Optional(
    Type.Integer({
      minimum: 200,
      maximum: 5000,
      default: 1000,
      description: 'Audio that is sent beyond what was played.',
    }),
  ),
  greeting: Type.Optional(
    Type.Boolean({ default: true, description: 'Whether the greeting is spoken, if the session has no turn yet.' }),
  ),
});
export type CallQuery = Static<typeof CallQuery>;

/** The messages that a client sends in a call, beside audio. */
export const CallMessages = {
  start: named('CallStart', Type.Object({ type: Type.Literal('start'), ...settings })),
  played: named(
    'CallPlayed',
    Type.Object({
      type: Type.Literal('played'),
      message_id: Type.String(),
      samples: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    }),
  ),
  interrupt: named('CallInterrupt', Type.Object({ type: Type.Literal('interrupt') })),
  flush: named('CallFlush', Type.Object({ type: Type.Literal('flush') })),
  message: named(
    'CallMessage',
    Type.Object({ type: Type.Literal('message'), text: Text(limits.messageCharactersMax) }),
  ),
  hangup: named('CallHangup', Type.Object({ type: Type.Literal('hangup') })),
};

const message = { message_id: Type.String() };
const turn = { turn_id: Type.String(), ...message };
const samples = () => Type.Integer({ description: 'Of the output.' });
const { started, stopped, partial, received, error } = TranscriptionEvents;
/** A message about one reply and nothing else. */
const ofReply = <const T extends string>(name: string, type: T) =>
  named(name, Type.Object({ type: Type.Literal(type), ...message }));

/** The messages that the server sends in a call, beside audio, by their types. */
export const CallEvents = {
  ready: named(
    'CallReady',
    Type.Object({
      ...{
        type: Type.Literal('ready'),
        call_id: Type.String(),
        session_id: Type.String(),
        sample_rate: Type.Integer(),
        encoding: Strings(encodings),
      },
      ...{
        output_sample_rate: Type.Integer(),
        output_encoding: Strings(outputEncodings),
        turn_silence_ms: Type.Integer(),
        ahead_ms: Type.Integer(),
      },
      ...{ barge_in: Strings(['words', 'voice', 'off']), expires_at: UnixSeconds() },
    }),
  ),
  state: named(
    'CallState',
    Type.Object({
      type: Type.Literal('state'),
      state: Strings(['listening', 'hearing', 'thinking', 'held', 'speaking', 'paused', 'busy']),
    }),
  ),
  'audio.received': received,
  'speech.started': started,
  'speech.stopped': stopped,
  'transcript.partial': partial,
  'transcript.final': named(
    'CallTranscriptFinal',
    Type.Object({
      ...TranscriptionEvents.final.properties,
      ignored: Nullable(Strings(['backchannel', 'echo', 'failed'], 'Why its words are no part of a turn.')),
    }),
  ),
  'turn.started': named(
    'CallTurnStarted',
    Type.Object({
      type: Type.Literal('turn.started'),
      ...turn,
      text: Type.String({ description: "The person's message." }),
      spoken: Type.Boolean(),
    }),
  ),
  'message.accepted': named(
    'CallMessageAccepted',
    Type.Object({
      type: Type.Literal('message.accepted'),
      ...message,
      text: Type.String({ description: "The person's message." }),
    }),
  ),
  'audio.start': named(
    'CallAudioStart',
    Type.Object({
      type: Type.Literal('audio.start'),
      ...message,
      turn_id: Nullable(Type.String({ description: 'Null: the greeting.' })),
    }),
  ),
  'audio.end': named('CallAudioEnd', Type.Object({ type: Type.Literal('audio.end'), ...message, samples: samples() })),
  'audio.pause': ofReply('CallAudioPause', 'audio.pause'),
  'audio.resume': ofReply('CallAudioResume', 'audio.resume'),
  'audio.clear': ofReply('CallAudioClear', 'audio.clear'),
  'message.delta': named(
    'CallDelta',
    Type.Object({ type: Type.Literal('message.delta'), ...message, text: Type.String() }),
  ),
  'turn.completed': named(
    'CallTurnCompleted',
    Type.Object({
      type: Type.Literal('turn.completed'),
      ...turn,
      stop_reason: Type.Literal('end'),
      usage: Type.Object({
        input_tokens: Type.Integer(),
        output_tokens: Type.Integer(),
        cached_input_tokens: Type.Integer(),
      }),
    }),
  ),
  'turn.aborted': named(
    'CallTurnAborted',
    Type.Object({
      type: Type.Literal('turn.aborted'),
      ...turn,
      stop_reason: Type.Literal('aborted'),
      cut_by: Nullable(Strings(['speech', 'client', 'api', 'lost'])),
    }),
  ),
  'turn.withdrawn': named(
    'CallTurnWithdrawn',
    Type.Object({ type: Type.Literal('turn.withdrawn'), turn_id: Type.String() }),
  ),
  'turn.failed': named(
    'CallTurnFailed',
    Type.Object({
      type: Type.Literal('turn.failed'),
      turn_id: Nullable(Type.String({ description: 'Null: none was begun.' })),
      code: Type.String({ description: 'A code of the table of errors.' }),
      message: Type.String(),
    }),
  ),
  ended: named(
    'CallEnded',
    Type.Object({ type: Type.Literal('ended'), reason: Strings(['hangup', 'replaced', 'person']) }),
  ),
  error,
};

/** A message that the server sends in a call, beside audio. */
export type CallMessage = {
  [Name in keyof typeof CallEvents]: Static<(typeof CallEvents)[Name]>;
}[keyof typeof CallEvents];
/** A state of a call that its client knows. */
export type WireState = Extract<CallMessage, { type: 'state' }>['state'];
