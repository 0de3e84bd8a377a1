/** Makes one visit of a call, and keeps all that came back and what its session has afterwards. */
import type { WebSocket } from 'ws';
import { refusedUpgrade } from '../api/raw.ts';
import { until } from '../api/talk.ts';
import type { CallStep, CallVisit } from './call-visits.ts';
import { connectionOf, hangsAfterMs, isOpen, opened, play, withDeadline, type Visited } from './visitor.ts';
import type { Sound } from './visits.ts';
import type { World } from './world.ts';

export interface CallVisited extends Pick<Visited, 'code' | 'tookMs' | 'refusals'> {
  /** Every message, as it came: a text, or the length of a binary one. */
  readonly came: readonly any[];
  readonly transcript: readonly any[];
}

/** The messages and the samples that a visit has received so far. */
class Ear {
  readonly came: any[] = [];
  message = '';
  readonly samples = new Map<string, number>();
  readonly #waiting = new Set<() => void>();
  readonly #sampleBytes: number;

  constructor(sampleBytes: number) {
    this.#sampleBytes = sampleBytes;
  }

  take(data: Buffer, isBinary: boolean): void {
    const message = isBinary ? data.length : JSON.parse(String(data));
    this.came.push(message);
    if (isBinary)
      this.samples.set(this.message, (this.samples.get(this.message) ?? 0) + data.length / this.#sampleBytes);
    else if (message.type === 'audio.start') this.message = message.message_id;
    for (const wake of this.#waiting) wake();
  }

  /** Resolves with the next message that fits, after the time, or when the socket has closed. */
  async next(fits: (message: any) => boolean, ms: number, closed: Promise<unknown>): Promise<void> {
    const from = this.came.length;
    let [wake, timer]: [() => void, NodeJS.Timeout | undefined] = [() => {}, undefined];
    const found = new Promise<void>((resolve) => {
      wake = () => this.came.slice(from).some((message) => typeof message !== 'number' && fits(message)) && resolve();
      timer = setTimeout(resolve, ms);
    });
    this.#waiting.add(wake);
    await Promise.race([found, closed]);
    this.#waiting.delete(wake);
    clearTimeout(timer);
  }
}

const waitsMs = 2000;

export async function visitCall(
  { house }: World,
  assistantId: string,
  visit: CallVisit,
  bytesOf: (sound: Sound, bytes: number) => Uint8Array,
): Promise<CallVisited> {
  const session = await house.session(assistantId);
  const { json, text, status } = await house.ask('/call-tokens', { body: { session_id: session.id } });
  if (status !== 201) throw new Error(`no token: ${text}`);
  const { token } = json;
  const refusals: CallVisited['refusals'][number][] = [];
  for (const { kind, text } of visit.before)
    refusals.push(
      await refusedUpgrade(
        house.url,
        kind === 'query' ? `/call?token=${token}${text}` : `/call?token=${text}${token.slice(text.length)}x`,
      ),
    );

  const ear = new Ear(visit.query.includes('law') ? 1 : 2);
  const startedAt = performance.now();
  const { socket, closed } = await opened(`${house.url.replace('http', 'ws')}/call`, token, visit, (data, isBinary) =>
    ear.take(data, isBinary),
  );
  const beside: Promise<unknown>[] = [];
  const request = async (what: 'chat' | 'abort' | 'end'): Promise<void> => {
    const path = `/sessions/${session.id}`;
    if (what === 'end') return void (await house.ask(`${path}/end`, { method: 'POST' }));
    if (what === 'chat')
      return void beside.push(
        fetch(`${house.url}${path}/chat`, {
          method: 'POST',
          headers: { authorization: `Bearer ${house.key}` },
          body: '{"message":"beside"}',
          signal: AbortSignal.timeout(hangsAfterMs),
        }).then((answer) => answer.text()),
      );
    const { active_turn_id: turnId } = (await house.ask(path)).json;
    if (turnId !== null) await house.ask(`${path}/turns/${turnId}/abort`, { method: 'POST' });
  };
  for (const step of visit.steps) {
    if (!isOpen(socket)) break;
    if (step.do === 'request') await request(step.what);
    else if (step.do === 'wait') await wait(step, ear, closed);
    else if (step.do === 'played')
      socket.send(
        JSON.stringify({
          type: 'played',
          message_id: step.of === 'last' ? ear.message : 'msg_other',
          samples: step.samples === 'received' ? (ear.samples.get(ear.message) ?? 0) : step.samples,
        }),
        () => {},
      );
    else if (step.do === 'text') socket.send(step.text, () => {});
    else await play(socket, step, bytesOf);
  }
  leave(socket, visit);
  const code = await withDeadline(closed, ear.came);
  const tookMs = performance.now() - startedAt;
  await Promise.all(beside);
  const transcript = await until(async () => {
    const { active_turn_id: turn, active_call_id: call } = (await house.ask(`/sessions/${session.id}`)).json;
    return turn === null && call === null
      ? (await house.ask(`/sessions/${session.id}/transcript?limit=100`)).json.data
      : null;
  });
  return { came: ear.came, code, tookMs, refusals, transcript };
}

async function wait(
  { for: what }: Extract<CallStep, { do: 'wait' }>,
  ear: Ear,
  closed: Promise<unknown>,
): Promise<void> {
  if (typeof what === 'number') return ear.next(() => false, what, closed);
  await ear.next(({ type }) => (what === 'turn' ? /^turn\.(?!started)/.test(type) : type === what), waitsMs, closed);
}

function leave(socket: WebSocket, { leaving }: CallVisit): void {
  if (!isOpen(socket)) return;
  if (leaving === 'hangup') socket.send('{"type":"hangup"}', () => {});
  else if (leaving === 'close') socket.close(1000);
  else if (leaving === 'cut') connectionOf(socket).resetAndDestroy();
  else connectionOf(socket).end();
}
