/**
 * The reference's texts on the socket of a call: its messages, each with an example, and the codes that it is closed
 * with.
 */
import { limits } from '../../base/limits.ts';
import type { CallEvents, CallMessages } from '../../wire/wire.ts';
import { ids, session } from './examples.ts';
import type { SocketClose, SocketMessage } from './socket.ts';

const [message_id, turn_id] = [ids.reply, ids.turn];

/** The client's messages beside audio, by `type`. */
export const callCommands: Readonly<Record<keyof typeof CallMessages, SocketMessage>> = {
  start: {
    title: 'Settings of the audio',
    does: "Sets fields of the upgrade's query, one by one, and wins over it; those of the output belong to the query alone. Allowed only before the first audio.",
    example: { type: 'start', encoding: 'pcm_s16le', sample_rate: 24_000, turn_silence_ms: 700 },
  },
  played: {
    title: 'So much was heard',
    does: 'So many samples of the message have left the loudspeaker: every 250 ms while it plays, at its end, and at once on `audio.pause` and `audio.clear`. A client that never sends it goes by the clock. Reports may come more often than 20 times a second: the newest counts.',
    example: { type: 'played', message_id, samples: 8_000 },
  },
  interrupt: {
    title: 'Be quiet',
    does: 'Cuts what is spoken; before that it withdraws the turn.',
    example: { type: 'interrupt' },
  },
  flush: { title: 'That was all', does: 'What was said so far is the turn, now.', example: { type: 'flush' } },
  message: {
    title: 'A text',
    does: 'Is answered aloud, and cuts what is spoken. Words that were said and have no turn yet come before it.',
    example: { type: 'message', text: 'When are you open?' },
  },
  hangup: {
    title: 'The end',
    does: 'Ends the call: `ended` and the close with 1000 follow. Later messages are ignored.',
    example: { type: 'hangup' },
  },
};

/** The server's messages beside audio, by `type`. */
export const callEvents: Readonly<Record<keyof typeof CallEvents, SocketMessage>> = {
  ready: {
    title: 'The call is open',
    does: 'Comes once and first, with the settings of the query.',
    example: {
      ...{
        type: 'ready',
        call_id: ids.call,
        session_id: ids.session,
        sample_rate: 16_000,
        encoding: 'pcm_s16le',
        output_sample_rate: 16_000,
        output_encoding: 'pcm_s16le',
      },
      ...{ turn_silence_ms: 500, ahead_ms: 1_000, barge_in: 'words', expires_at: session.expires_at },
    },
  },
  state: {
    title: 'Whose turn it is',
    does: 'Comes after `ready` and at each change, before its consequences.',
    example: { type: 'state', state: 'listening' },
  },
  'audio.received': {
    title: 'Audio has arrived',
    does: 'Counts the audio taken, in whole seconds.',
    example: { type: 'audio.received', audio_ms: 2_000 },
  },
  'speech.started': {
    title: 'Somebody speaks',
    does: 'Exactly one `transcript.final` of the same utterance follows while the call lasts.',
    example: { type: 'speech.started', utterance: 1, at_ms: 480 },
  },
  'speech.stopped': {
    title: 'Nobody speaks any more',
    does: 'Comes only before a final whose reason is `silence`.',
    example: { type: 'speech.stopped', utterance: 1, at_ms: 1_920 },
  },
  'transcript.partial': {
    title: 'The text so far',
    does: 'The first `stable` code points will not change any more.',
    example: { type: 'transcript.partial', utterance: 1, text: 'When are you op', stable: 8, start_ms: 480 },
  },
  'transcript.final': {
    title: 'The text of an utterance',
    does: 'The words of all finals since the last turn are the message of the next one, without those that are `ignored`.',
    example: {
      type: 'transcript.final',
      utterance: 1,
      text: 'When are you open?',
      start_ms: 480,
      end_ms: 1_920,
      reason: 'silence',
      ignored: null,
    },
  },
  'turn.started': {
    title: 'A turn has begun',
    does: 'With the message that it answers. `spoken` is false for a chat on the same session, of which nothing is spoken.',
    example: { type: 'turn.started', turn_id, message_id, text: 'When are you open?', spoken: true },
  },
  'message.accepted': {
    title: 'Words wait for a person',
    does: 'The words are stored for a person of the desk, and no turn answers them: the visitor waits for a person while the assistant is silent, or a person has just taken the session.',
    example: { type: 'message.accepted', message_id, text: 'When are you open?' },
  },
  'audio.start': {
    title: 'A reply sounds',
    does: 'The binary messages that follow are its audio.',
    example: { type: 'audio.start', message_id, turn_id },
  },
  'audio.end': {
    title: 'All of it was sent',
    does: 'Never comes after a cut.',
    example: { type: 'audio.end', message_id, samples: 30_720 },
  },
  'audio.pause': {
    title: 'Hold',
    does: 'Somebody speaks over the reply: hold it, and report where.',
    example: { type: 'audio.pause', message_id },
  },
  'audio.resume': { title: 'Go on', does: 'Go on where it was held.', example: { type: 'audio.resume', message_id } },
  'audio.clear': {
    title: 'Drop it',
    does: 'Drop what is not played, and report how much was. No audio of the message follows.',
    example: { type: 'audio.clear', message_id },
  },
  'message.delta': {
    title: 'Text as it is heard',
    does: 'Words of the reply that have been played, as far as the server knows.',
    example: { type: 'message.delta', message_id, text: ' We are open' },
  },
  'turn.completed': {
    title: 'All was heard',
    does: 'The turn is over.',
    example: {
      type: 'turn.completed',
      turn_id,
      message_id,
      stop_reason: 'end',
      usage: { input_tokens: 21, output_tokens: 12, cached_input_tokens: 0 },
    },
  },
  'turn.aborted': {
    title: 'The reply was cut',
    does: 'The transcript has what was heard of it.',
    example: { type: 'turn.aborted', turn_id, message_id, stop_reason: 'aborted', cut_by: 'speech' },
  },
  'turn.withdrawn': {
    title: 'The turn never was',
    does: 'No word of its reply was heard: the words that it answered begin the next message.',
    example: { type: 'turn.withdrawn', turn_id },
  },
  'turn.failed': {
    title: 'No reply, or no more of it',
    does: 'The call goes on. `code` is of the table of errors.',
    example: {
      type: 'turn.failed',
      turn_id,
      code: 'assistant_unavailable',
      message: 'The assistant cannot answer at the moment.',
    },
  },
  ended: {
    title: 'The call is over',
    does: 'Comes before the close with 1000.',
    example: { type: 'ended', reason: 'hangup' },
  },
  error: {
    title: 'Why the call closes',
    does: 'Comes before every close but the one with 1000. `code` is of the table of errors.',
    example: { type: 'error', code: 'session_expired', message: 'The session has expired.' },
  },
};

export const callCloses: readonly SocketClose[] = [
  { code: 1000, errors: [], when: 'after `ended`' },
  {
    code: 1008,
    errors: [
      'invalid_request',
      'rate_limited',
      'session_ended',
      'session_expired',
      'assistant_not_found',
      'assistant_not_permitted',
      'assistant_not_published',
      'assistant_disabled',
      'voice_disabled',
    ],
    when: `for a message that is wrong, text messages and pings beyond ${limits.socketTextsMax} at once and ${limits.socketTextsPerSecond} a second, audio that comes faster than it is spoken or events that are not read, the end or the deadline of the session, and, at the next turn, the state of the assistant`,
  },
  { code: 1009, errors: ['invalid_request'], when: `for a message of more than ${limits.socketMessageBytesMax} bytes` },
  {
    code: 1011,
    errors: ['voice_unavailable', 'assistant_unavailable', 'api_error'],
    when: 'when the voice fails three times in a row, or the server does',
  },
  { code: 1012, errors: ['api_error'], when: 'when the server restarts; a reply under way is spoken before' },
];
