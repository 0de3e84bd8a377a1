/** Makes one visit of a transcription socket and keeps all that came back. */
import type { Socket as Connection } from 'node:net';
import { WebSocket } from 'ws';
import { refusedUpgrade } from '../api/raw.ts';
import { mint } from '../providers/voice/talker.ts';
import type { Sound, Step, Visit } from './visits.ts';
import type { World } from './world.ts';
import { patient } from '../run/speed.mjs';

export interface Visited {
  /** Every message, as it came. */
  readonly messages: readonly string[];
  /** The number of binary messages, which the server never sends. */
  readonly binary: number;
  readonly code: number;
  readonly tookMs: number;
  readonly refusals: readonly { readonly status: number; readonly json: any; readonly headers: Headers }[];
}

/**
 * More time than any visit needs once the models are loaded, even on a busy machine: a visit that takes longer hangs.
 */
export const hangsAfterMs = patient(60_000);

export async function visitOnce(
  { house }: World,
  assistantId: string,
  visit: Visit,
  bytesOf: (sound: Sound, bytes: number) => Uint8Array,
): Promise<Visited> {
  const { token } = await mint(house, assistantId);
  const refusals: Visited['refusals'][number][] = [];
  for (const { kind, text } of visit.before) {
    refusals.push(
      await refusedUpgrade(
        house.url,
        kind === 'query'
          ? `/transcription?token=${token}${text}`
          : `/transcription?token=${text}${token.slice(text.length)}x`,
      ),
    );
  }
  const messages: string[] = [];
  let binary = 0;
  const startedAt = performance.now();
  const { socket, closed } = await opened(
    `${house.url.replace('http', 'ws')}/transcription`,
    token,
    visit,
    (data, isBinary) => (isBinary ? binary++ : messages.push(String(data))),
  );
  for (const step of visit.steps) await play(socket, step, bytesOf);
  leave(socket, visit);
  const code = await withDeadline(closed, messages);
  return { messages, binary, code, tookMs: performance.now() - startedAt, refusals };
}

interface Opened {
  readonly socket: WebSocket;
  readonly closed: Promise<number>;
}

/** A server that is full says so, and leaves the token good (contract 8, "Overload"). */
export async function opened(
  address: string,
  token: string,
  { protocol, query }: Pick<Visit, 'protocol' | 'query'>,
  onMessage: (data: Buffer, isBinary: boolean) => void,
): Promise<Opened> {
  for (let tries = 1; ; tries++) {
    const socket = protocol
      ? new WebSocket(`${address}?${query.slice(1)}`, [`token.${token}`])
      : new WebSocket(`${address}?token=${token}${query}`);
    socket.on('message', (data, isBinary) => onMessage(data as Buffer, isBinary));
    socket.on('error', () => {});
    const closed = new Promise<number>((resolve) => socket.on('close', resolve));
    const refused = new Promise<{ statusCode: number | undefined; retry: number }>((resolve) => {
      socket.on('unexpected-response', (_, { statusCode, headers }) =>
        resolve({ statusCode, retry: Number(headers['retry-after']) }),
      );
    });
    const refusal = await Promise.race([
      new Promise<null>((resolve) => socket.on('open', () => resolve(null))),
      closed.then(() => null),
      refused,
    ]);
    if (refusal === null) return { socket, closed };
    socket.terminate();
    if (refusal.statusCode !== 503 || !(refusal.retry > 0) || tries === triesMax)
      throw new Error(`A good token was refused with ${refusal.statusCode}.`);
    await new Promise((resolve) => setTimeout(resolve, refusal.retry * 1000));
  }
}

const triesMax = 6;

export const connectionOf = (socket: WebSocket): Connection => (socket as unknown as { _socket: Connection })._socket;
export const isOpen = ({ readyState }: WebSocket): boolean => readyState === WebSocket.OPEN;

export async function play(
  socket: WebSocket,
  step: Step,
  bytesOf: (sound: Sound, bytes: number) => Uint8Array,
): Promise<void> {
  if (!isOpen(socket)) return;
  const ignore = (): void => {};
  if (step.do === 'text') socket.send(step.text, ignore);
  else if (step.do === 'audio') {
    const audio = bytesOf(step.sound, step.bytes);
    // A thousand frames are enough for the smallest of them.
    const frameBytes = Math.max(step.frameBytes, Math.ceil(audio.length / 1000));
    for (let at = 0; at < audio.length && isOpen(socket); at += frameBytes)
      socket.send(audio.subarray(at, at + frameBytes), ignore);
  } else if (step.do === 'frame') socket.send(bytesOf('random', step.bytes), ignore);
  else if (step.do === 'fragments') {
    const bytes = bytesOf('noise', step.bytes);
    const size = Math.ceil(bytes.length / step.pieces);
    for (let piece = 0; piece < step.pieces && isOpen(socket); piece++) {
      socket.send(
        bytes.subarray(piece * size, (piece + 1) * size),
        { binary: true, fin: piece === step.pieces - 1 },
        ignore,
      );
      socket.ping(undefined, undefined, ignore);
    }
  } else if (step.do === 'pings') {
    for (let count = 0; count < step.count && isOpen(socket); count++)
      socket.ping(bytesOf('random', step.bytes), undefined, ignore);
  } else connectionOf(socket).write(Uint8Array.from(step.bytes));
  // The server is let in between, as it would be if the client were on another machine.
  await new Promise((resolve) => setImmediate(resolve));
}

function leave(socket: WebSocket, { leaving }: Visit): void {
  if (!isOpen(socket)) return;
  if (leaving === 'finish') socket.send('{"type":"finish"}', () => {});
  else if (leaving === 'close') socket.close(1000);
  else if (leaving === 'cut') connectionOf(socket).resetAndDestroy();
  else connectionOf(socket).end();
}

export async function withDeadline(closed: Promise<number>, messages: readonly unknown[]): Promise<number> {
  let timer!: NodeJS.Timeout;
  const late = new Promise<never>(
    (_, reject) =>
      (timer = setTimeout(() => reject(new Error(`The socket stays open: ${messages.join(' ')}`)), hangsAfterMs)),
  );
  return Promise.race([closed, late]).finally(() => clearTimeout(timer));
}
