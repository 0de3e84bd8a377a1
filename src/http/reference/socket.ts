/**
 * The reference's texts on the transcription socket: its messages, each with an example, and the codes that it is
 * closed with.
 */
import { limits } from '../../base/limits.ts';
import { session } from './examples.ts';

/** A message in JSON. */
export interface SocketMessage {
  readonly title: string;
  readonly does: string;
  readonly example: object;
}

/** The client's messages beside audio, by `type`. */
export const commands: Readonly<Record<'start' | 'flush' | 'finish', SocketMessage>> = {
  start: {
    title: 'Settings of the audio',
    does: "Sets the same fields as the upgrade's query, one by one, and wins over it. It is optional, not answered, and allowed only before the first audio.",
    example: { type: 'start', encoding: 'pcm_s16le', sample_rate: 24_000, silence_ms: 500 },
  },
  flush: {
    title: 'The text so far, now',
    does: 'Makes the speech so far final, with the reason `flush`; the socket stays open. While nobody speaks it does nothing, and a flush while another waits is merged with it.',
    example: { type: 'flush' },
  },
  finish: {
    title: 'No more audio',
    does: 'Requests the pending finals, then `done` and the close with 1000. Later messages are ignored.',
    example: { type: 'finish' },
  },
};

/** The server's messages, by the names of `TranscriptionEvents`. */
export const socketEvents: Readonly<
  Record<'ready' | 'started' | 'stopped' | 'partial' | 'final' | 'received' | 'done' | 'error', SocketMessage>
> = {
  ready: {
    title: 'The socket is open',
    does: "Comes once and first, with the settings of the query; a later `start` wins and is not answered. `expires_at` is the session's, or null.",
    example: {
      type: 'ready',
      sample_rate: 16_000,
      encoding: 'pcm_s16le',
      silence_ms: 300,
      expires_at: session.expires_at,
    },
  },
  started: {
    title: 'Somebody speaks',
    does: 'Speech began at `at_ms`. Exactly one `transcript.final` of the same utterance follows while the socket lives.',
    example: { type: 'speech.started', utterance: 1, at_ms: 480 },
  },
  stopped: {
    title: 'Nobody speaks any more',
    does: 'Speech stopped at `at_ms`, without the silence after it. It comes only before a final whose reason is `silence`.',
    example: { type: 'speech.stopped', utterance: 1, at_ms: 1_920 },
  },
  partial: {
    title: 'The text so far',
    does: 'The text of an utterance while it goes on. The first `stable` code points of `text` will not change any more.',
    example: { type: 'transcript.partial', utterance: 1, text: 'When are you op', stable: 8, start_ms: 480 },
  },
  final: {
    title: 'The text of an utterance',
    does: `The whole text, which may be empty. \`reason\` says how the utterance ended: \`silence\`, \`flush\`, \`finish\`, or \`length\` after ten seconds; then a new \`speech.started\` follows at the cut if speech goes on.`,
    example: {
      type: 'transcript.final',
      utterance: 1,
      text: 'When are you open?',
      start_ms: 480,
      end_ms: 1_920,
      reason: 'silence',
    },
  },
  received: {
    title: 'Audio has arrived',
    does: 'Counts the audio taken, in whole seconds; a message over several seconds gives one.',
    example: { type: 'audio.received', audio_ms: 2_000 },
  },
  done: {
    title: 'Nothing is owed any more',
    does: 'Answers `finish`, after the last final and before the close with 1000.',
    example: { type: 'done', audio_ms: 2_400 },
  },
  error: {
    title: 'Why the socket closes',
    does: 'Comes before every close but the one with 1000. `code` is of the table of errors.',
    example: { type: 'error', code: 'session_expired', message: 'The session has expired.' },
  },
};

export interface SocketClose {
  readonly code: number;
  /** The codes that the `error` before it may have; none for a close without one. */
  readonly errors: readonly string[];
  readonly when: string;
}

export const closes: readonly SocketClose[] = [
  { code: 1000, errors: [], when: 'after `done`' },
  {
    code: 1008,
    errors: [
      'invalid_request',
      'rate_limited',
      'session_ended',
      'session_expired',
      'assistant_not_published',
      'assistant_disabled',
      'voice_disabled',
    ],
    when: `for a message that is wrong, text messages and pings beyond ${limits.socketTextsMax} at once and ${limits.socketTextsPerSecond} a second, audio that comes faster than it is spoken, events that are not read or a limit of the link that refuses a visitor's speech, the end or the deadline of the session, the end of the workspace (\`session_ended\`), and, when speech next begins, the state of the assistant`,
  },
  { code: 1009, errors: ['invalid_request'], when: `for a message of more than ${limits.socketMessageBytesMax} bytes` },
  {
    code: 1011,
    errors: ['voice_unavailable', 'assistant_unavailable', 'api_error'],
    when: 'when the voice provider fails (`assistant_unavailable`: its rate limit), or the server does',
  },
  { code: 1012, errors: ['api_error'], when: 'when the server restarts' },
];

/** The codes as a list in Markdown. */
export const closesIn = (closes: readonly SocketClose[]): string =>
  closes
    .map(
      ({ code, errors, when }) =>
        `- ${code} ${when}${errors.length === 0 ? '' : `: ${errors.map((name) => `\`${name}\``).join(', ')}`}`,
    )
    .join('\n');

export const closesText = closesIn(closes);
