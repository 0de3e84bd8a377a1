/**
 * Holds what came of a visit of a call to contract 18: shapes, states, audio, one end for each turn, and a transcript
 * that has what was heard.
 */
import { checkFailure } from './judge.ts';
import { endsOf, type CallVisit } from './call-visits.ts';
import type { CallVisited } from './call-visitor.ts';
import {
  checkShape,
  checkUtterances,
  number,
  sentences,
  shapes as transcription,
  string,
  type Shape,
} from './voice-judge.ts';

const oneOf =
  (...values: readonly unknown[]) =>
  (value: unknown): boolean =>
    values.includes(value);
const id =
  (prefix: string) =>
  (value: unknown): boolean =>
    typeof value === 'string' && new RegExp(`^${prefix}_[0-9a-z]{26}$`).test(value);
const orNull =
  (is: (value: any) => boolean) =>
  (value: unknown): boolean =>
    value === null || is(value);

const states = ['listening', 'hearing', 'thinking', 'held', 'speaking', 'paused', 'busy'];
const ofMessage: Shape = { message_id: id('msg') };
const turn: Shape = { turn_id: id('turn'), message_id: id('msg') };

const shapes: Readonly<Record<string, Shape>> = {
  ready: {
    call_id: id('call'),
    session_id: id('ses'),
    sample_rate: number,
    encoding: string,
    output_sample_rate: number,
    output_encoding: string,
    turn_silence_ms: number,
    ahead_ms: number,
    barge_in: oneOf('words', 'voice', 'off'),
    expires_at: number,
  },
  state: { state: oneOf(...states) },
  'speech.started': transcription['speech.started']!,
  'speech.stopped': transcription['speech.stopped']!,
  'transcript.partial': transcription['transcript.partial']!,
  'transcript.final': { ...transcription['transcript.final']!, ignored: oneOf(null, 'backchannel', 'echo', 'failed') },
  'audio.received': { audio_ms: number },
  'turn.started': { ...turn, text: string, spoken: (value) => typeof value === 'boolean' },
  'audio.start': { message_id: id('msg'), turn_id: orNull(id('turn')) },
  'audio.end': { message_id: id('msg'), samples: number },
  'audio.pause': ofMessage,
  'audio.resume': ofMessage,
  'audio.clear': ofMessage,
  'message.delta': { message_id: id('msg'), text: (value) => string(value) && value !== '' },
  'turn.completed': {
    ...turn,
    stop_reason: oneOf('end'),
    usage: ({ input_tokens: input, output_tokens: output, cached_input_tokens: cached, ...more }) =>
      number(input) && number(output) && number(cached) && Object.keys(more).length === 0,
  },
  'turn.aborted': { ...turn, stop_reason: oneOf('aborted'), cut_by: oneOf(null, 'speech', 'client', 'api', 'lost') },
  'turn.withdrawn': { turn_id: id('turn') },
  'turn.failed': { turn_id: orNull(id('turn')), code: string, message: (value) => sentences.has(value) },
  ended: { reason: oneOf('hangup', 'replaced') },
  error: transcription['error']!,
};

const terminal = /^turn\.(completed|aborted|withdrawn|failed)$/;

/** Throws the fault of a visit. */
export function judgeCall(visit: CallVisit, { came, code, tookMs, refusals, transcript }: CallVisited): void {
  for (const { status, json, headers } of refusals) {
    checkFailure(status, json, headers);
    if (status >= 500) throw new Error(`refused with ${status}`);
  }
  const messages = came.filter((one) => typeof one !== 'number');
  for (const message of messages) checkShape(message, shapes);
  if (came.length > 0 && came[0].type !== 'ready') throw new Error('the first message is not ready');
  checkEnd(visit, messages, code, tookMs);
  const told = messages.filter(({ type }) => type === 'state').map(({ state }) => state);
  if (told.some((state, index) => state === told[index - 1]))
    throw new Error(`a state that did not change: ${told.join()}`);
  checkUtterances(messages, false);
  checkAudio(came, visit.frameBytes, visit.query.includes('law') ? 1 : 2);
  checkTurns(messages, transcript);
}

function checkEnd(visit: CallVisit, messages: readonly any[], code: number, tookMs: number): void {
  const last = messages.at(-1);
  const end = `${last?.type === 'error' ? last.code : '-'}/${code}`;
  const left = visit.leaving !== 'hangup' && end === (visit.leaving === 'close' ? '-/1000' : '-/1006');
  const ends = endsOf(visit, tookMs);
  if (!left && !ends.has(end)) throw new Error(`ended with ${end}, where ${[...ends].join(' or ')} was due`);
  if (messages.some((message) => message.type === 'error' && message !== last))
    throw new Error('messages behind the error');
  if (code === 1000 && visit.leaving === 'hangup' && last?.type !== 'ended')
    throw new Error(`the call ended with ${JSON.stringify(last)}`);
}

/** Frames belong to the message whose audio began last, and end with it. */
function checkAudio(came: readonly any[], frameBytes: number, sampleBytes: number): void {
  const [begun, over] = [new Set<string>(), new Set<string>()];
  let [current, bytes, held] = ['', 0, false];
  for (const one of came) {
    if (typeof one === 'number') {
      if (current === '' || over.has(current)) throw new Error(`a frame of no message, behind ${current}`);
      if (one > frameBytes || one === 0 || one % sampleBytes !== 0) throw new Error(`a frame of ${one} bytes`);
      bytes += one;
    } else if (one.type === 'audio.start') {
      if (begun.has(one.message_id)) throw new Error('the audio of a message begins twice');
      begun.add(one.message_id);
      [current, bytes, held] = [one.message_id, 0, false];
    } else if (/^audio\.(end|pause|resume|clear)$/.test(one.type)) {
      if (one.message_id !== current) throw new Error(`${one.type} of another message`);
      if (one.type === 'audio.end' && one.samples !== bytes / sampleBytes)
        throw new Error(`${bytes / sampleBytes} samples came, and audio.end tells ${one.samples}`);
      if (one.type === 'audio.end' && over.has(current)) throw new Error('audio.end behind the end');
      if (one.type === 'audio.pause' || one.type === 'audio.resume') {
        if (held === (one.type === 'audio.pause')) throw new Error(`${one.type} twice`);
        held = !held;
      } else over.add(current);
    }
  }
}

function checkTurns(messages: readonly any[], transcript: readonly any[]): void {
  const [text, ended] = [new Map<string, string>(), new Map<string, any>()];
  const started = new Map<string, any>();
  for (const message of messages) {
    if (message.type === 'turn.started') {
      if (started.has(message.turn_id)) throw new Error(`${message.turn_id} started twice`);
      started.set(message.turn_id, message);
      text.set(message.message_id, '');
    } else if (message.type === 'message.delta') {
      if (!text.has(message.message_id)) throw new Error('a delta of no turn');
      text.set(message.message_id, text.get(message.message_id)! + message.text);
    } else if (terminal.test(message.type) && message.turn_id !== null) {
      if (!started.has(message.turn_id)) throw new Error(`${message.type} of a turn that was not started`);
      if (ended.has(message.turn_id))
        throw new Error(
          `a turn has two ends: ${JSON.stringify(ended.get(message.turn_id))}, ${JSON.stringify(message)}`,
        );
      ended.set(message.turn_id, message);
    }
  }
  // A chat next to the call continues without it.
  if (messages.at(-1)?.type === 'ended')
    for (const [id, { spoken }] of started) if (spoken && !ended.has(id)) throw new Error(`${id} has no end`);
  for (const { turn_id: turnId, message_id: messageId, text: asked } of started.values()) {
    const end = ended.get(turnId);
    const its = transcript.filter((message) => message.turn_id === turnId);
    if (end?.type === 'turn.withdrawn') {
      if (its.length > 0 || text.get(messageId) !== '') throw new Error('a withdrawn turn left something');
      continue;
    }
    if (its.length === 0 && (end?.type === 'turn.failed' || end === undefined)) continue;
    const [said, reply] = its;
    if (its.length !== 2 || said.role !== 'user' || said.content !== asked || reply.id !== messageId)
      throw new Error(`the transcript has ${JSON.stringify(its)} of ${turnId}`);
    const heard = text.get(messageId)!;
    if (!reply.content.startsWith(heard))
      throw new Error(`heard ${JSON.stringify(heard)}, and the transcript has ${JSON.stringify(reply.content)}`);
    if (end !== undefined && reply.content !== heard)
      throw new Error(
        `at the end ${JSON.stringify(heard)} was heard, and the transcript has ${JSON.stringify(reply.content)}`,
      );
    if (end?.type === 'turn.completed' && reply.status !== 'completed')
      throw new Error(`completed, and ${reply.status} in the transcript`);
  }
  if (transcript.some(({ status }) => status === 'streaming')) throw new Error('a turn still streams');
}
