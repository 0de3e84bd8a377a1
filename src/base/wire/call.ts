/** The shapes of a call: its token, its query, and the messages that a client sends (contract 18). */
import { Type, type Static } from 'typebox';
import { limits } from '../limits.ts';
import { encodings } from '../audio-formats.ts';
import { named, Strings, Text, UnixSeconds } from './basics.ts';
import { audioSettings } from './conversation.ts';

export const CreateCallTokenBody = named('CreateCallToken', Type.Object({ session_id: Text(limits.bodyBytesMax, 1, 'The session that is talked on.') }));
export type CreateCallTokenBody = Static<typeof CreateCallTokenBody>;

export const CallTokenView = named(
  'CallToken',
  Type.Object({ object: Type.Literal('call_token'), token: Type.String({ pattern: '^tok_[\\w-]+$' }), url: Type.String({ description: 'Where it opens a call.' }), expires_at: UnixSeconds() }),
);

const { silence_ms: _, ...listening } = audioSettings;
const settings = {
  ...listening,
  turn_silence_ms: Type.Optional(Type.Integer({ minimum: 200, maximum: 3000, default: 500, description: "Silence that ends a person's turn; 2.4 times that, 3 s at most, where the text goes on." })),
  barge_in: Type.Optional(Strings(['words', 'voice', 'off'], 'How speech over a reply cuts it; `words` if absent.')),
};

export const CallQuery = Type.Object({
  token: Type.Optional(Type.String({ description: 'The token; the subprotocol `token.TOKEN` will do too.' })),
  ...settings,
  output_encoding: Type.Optional(Strings(encodings.filter((each) => each !== 'opus'), '`pcm_s16le` if absent.')),
  output_sample_rate: Type.Optional(Type.Integer({ minimum: 8000, maximum: 48_000, description: 'Hertz; 16000 if absent, 8000 with mu-law and A-law.' })),
  ahead_ms: Type.Optional(Type.Integer({ minimum: 200, maximum: 5000, default: 1000, description: 'Audio that is sent beyond what was played.' })),
  greeting: Type.Optional(Type.Boolean({ default: true, description: 'Whether the greeting is spoken, if the session has no turn yet.' })),
});
export type CallQuery = Static<typeof CallQuery>;

/** The messages that a client sends in a call, beside audio. */
export const CallMessages = {
  start: named('CallStart', Type.Object({ type: Type.Literal('start'), ...settings })),
  played: named('CallPlayed', Type.Object({ type: Type.Literal('played'), message_id: Type.String(), samples: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }) })),
  interrupt: named('CallInterrupt', Type.Object({ type: Type.Literal('interrupt') })),
  flush: named('CallFlush', Type.Object({ type: Type.Literal('flush') })),
  message: named('CallMessage', Type.Object({ type: Type.Literal('message'), text: Text(limits.messageCharactersMax) })),
  hangup: named('CallHangup', Type.Object({ type: Type.Literal('hangup') })),
};
