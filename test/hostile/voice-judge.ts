/**
 * Holds what came of a visit to the contract: every message has its shape, every start its final, every close its error
 * before it.
 */
import { errors } from '../../src/base/errors.ts';
import { checkFailure } from './judge.ts';
import { foreseen, type Visit } from './visits.ts';
import type { Visited } from './visitor.ts';

export const number = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
export const string = (value: unknown): boolean => typeof value === 'string';
export type Shape = Readonly<Record<string, (value: any) => boolean>>;

export const shapes: Readonly<Record<string, Shape>> = {
  ready: { sample_rate: number, encoding: string, silence_ms: number, expires_at: (value) => value === null },
  'speech.started': { utterance: number, at_ms: number },
  'speech.stopped': { utterance: number, at_ms: number },
  'transcript.partial': { utterance: number, text: string, stable: number, start_ms: number },
  'transcript.final': {
    utterance: number,
    text: string,
    start_ms: number,
    end_ms: number,
    reason: (value) => ['silence', 'flush', 'finish', 'length'].includes(value),
  },
  'audio.received': { audio_ms: number },
  done: { audio_ms: number },
  error: {
    code: (value) => Object.values(errors).some(({ code }) => code === value),
    message: (value) => sentences.has(value),
  },
};

/** Every sentence that a socket may end with here. */
export const sentences = new Set([
  'The message could not be read, or is not allowed here.',
  'The audio comes faster than it is spoken, or what is sent is not read.',
  'The message is larger than 1048576 bytes.',
  'The server is restarting.',
  ...Object.values(errors).map(({ message }) => message),
]);

/** Throws the fault of a visit. */
export function judgeVisit(visit: Visit, visited: Visited): void {
  for (const { status, json, headers } of visited.refusals) {
    checkFailure(status, json, headers);
    if (status >= 500) throw new Error(`refused with ${status}`);
  }
  if (visited.binary > 0) throw new Error('the server sent bytes');
  const messages = visited.messages.map((text) => JSON.parse(text));
  for (const message of messages) checkShape(message);
  // A client that left in the middle of the handshake may have no message.
  if (messages.length > 0 && messages[0].type !== 'ready') throw new Error('the first message is not ready');
  const { ends, audioMs } = foreseen(visit, visited.tookMs);
  const last = messages.at(-1);
  const end = `${last?.type === 'error' ? last.code : '-'}/${visited.code}`;
  // A client that leaves may be gone before the outstanding messages come.
  const left = end === (visit.leaving === 'close' ? '-/1000' : '-/1006') && visit.leaving !== 'finish';
  if (!left && !ends.has(end)) throw new Error(`ended with ${end}, where ${[...ends].join(' or ')} was due`);
  checkUtterances(messages, last?.type === 'done');
  checkAudio(messages, audioMs);
}

export function checkShape(message: any, of: Readonly<Record<string, Shape>> = shapes): void {
  const shape = Object.hasOwn(of, message.type) ? of[message.type] : undefined;
  if (shape === undefined) throw new Error(`an unknown message: ${JSON.stringify(message)}`);
  const names = ['type', ...Object.keys(shape)].sort().join();
  const fits =
    Object.keys(message).sort().join() === names && Object.entries(shape).every(([name, is]) => is(message[name]));
  if (!fits) throw new Error(`not the shape of ${message.type}: ${JSON.stringify(message)}`);
}

export function checkUtterances(messages: readonly any[], whole: boolean): void {
  const of = (type: string) => messages.filter((message) => message.type === type);
  const [starts, finals] = [of('speech.started'), of('transcript.final')];
  if (starts.some(({ utterance }, index) => utterance !== index + 1)) throw new Error('utterances do not count from 1');
  if (finals.some(({ utterance }, index) => utterance !== index + 1))
    throw new Error('finals are not in the order of their utterances');
  if (finals.length > starts.length || (whole && finals.length < starts.length))
    throw new Error(`${starts.length} starts and ${finals.length} finals`);
  for (const { utterance, end_ms: end, start_ms: from } of finals) {
    if (from !== starts[utterance - 1].at_ms || end < from)
      throw new Error(`utterance ${utterance} is from ${from} to ${end}, and began at ${starts[utterance - 1].at_ms}`);
    const its = messages.filter((message) => message.utterance === utterance).map(({ type }) => type);
    if (its[0] !== 'speech.started' || its.at(-1) !== 'transcript.final')
      throw new Error(`utterance ${utterance}: ${its.join()}`);
    const texts = messages
      .filter((message) => message.utterance === utterance && message.text !== undefined)
      .map(({ text, stable = 0 }) => ({ text: [...text], stable }));
    for (const [index, { text, stable }] of texts.entries()) {
      const held = text.slice(0, stable).join('');
      if (texts.slice(index).some((later) => later.text.slice(0, stable).join('') !== held))
        throw new Error(`stable text changed: ${held}`);
    }
  }
}

function checkAudio(messages: readonly any[], audioMs: number | null): void {
  const told = messages.filter(({ type }) => type === 'audio.received').map(({ audio_ms: ms }) => ms);
  if (told.some((ms, index) => ms % 1000 !== 0 || ms <= (told[index - 1] ?? 0)))
    throw new Error(`audio.received: ${told.join()}`);
  const [done] = messages.filter(({ type }) => type === 'done');
  if (done === undefined) return;
  if (messages.at(-1) !== done) throw new Error('messages after done');
  if (audioMs !== null && done.audio_ms !== audioMs)
    throw new Error(`${done.audio_ms} ms of audio were told, and ${audioMs} sent`);
}
