/** Checks the answers to clients against the steps of the store. */
import { errors } from '../../src/base/errors.ts';
import { codePoints, indexAfter } from '../../src/base/text.ts';
import { promptOf, type Asked, type History, type Stream, type StreamEvent } from './history.ts';
import { turnMsMax } from './host.ts';
import type { Oracle, State, TurnState } from './oracle.ts';
import { grouped, type Mode } from './world.ts';

/** Milliseconds in which a revocation reaches every process: requests that are sent later are refused. */
const revocationMs = 5000;

const shapes = new Set(Object.values(errors).map(({ code, status, type }) => `${status} ${type} ${code}`));

/**
 * Milliseconds in which a process withdraws a turn whose chat it answered with 503: the store is back by then in every
 * story.
 */
const withdrawalMs = 30_000;

/** The part of a text between two positions. */
const between = (text: string, from: number, to: number): string =>
  text.slice(indexAfter(text, from), indexAfter(text, to));

/** The id of the message that a chat was accepted as. */
const acceptedIn = (stream: Stream | null): string | undefined =>
  stream?.events.find(({ event }) => event === 'message.accepted')?.data.message_id as string | undefined;

/** The name under which a request with an `Idempotency-Key` is remembered. */
const nameOf = ({ keyId, path, idempotencyKey }: Asked): string => `${keyId} ${path} ${idempotencyKey}`;

export class Answers {
  readonly wrong: string[] = [];
  /** The store as it is, and as it was before each failover; an answer may rely on any of them. */
  readonly #states: readonly State[];
  readonly #oracle: Oracle;
  readonly #forgets: boolean;
  readonly #alone: boolean;
  /** Takes of the budgets that no answer has shown yet, by key and the values that they would show. */
  readonly #takes = new Map<string, number>();
  readonly #revokedMs = new Map<string, number>();
  /** Sessions and turns that a client knows of, since when. */
  readonly #knownMs = new Map<string, number>();
  /** The id that a request with an `Idempotency-Key` created, and when it was sent first. */
  readonly #made = new Map<string, string>();
  readonly #firstMs = new Map<string, number>();
  /** The positions of a turn's output that clients saw, and when. */
  /** The events of sessions that readers were sent, by path and number. */
  readonly #eventsSeen = new Map<string, string>();
  readonly #seen = new Map<string, { atMs: number; position: number }[]>();

  constructor(oracle: Oracle, history: History, mode: Mode) {
    const forgets = mode === 'failover';
    this.#alone = mode === 'embedded';
    this.#states = [oracle.state, ...oracle.forgotten];
    this.#oracle = oracle;
    this.#forgets = forgets;
    for (const { keyId, taken } of oracle.takes) this.#count(`${keyId} ${taken.remaining} ${taken.resetAt}`, 1);
    for (const asked of history.asked) this.#learn(asked);
    if (!forgets) this.#refused(oracle.state, history);
  }

  check(asked: Asked): void {
    if (!asked.over) this.#fault(asked, 'liveness', 'was never answered');
    if (asked.stream !== null) this.#streamOf(asked, asked.stream);
    if (asked.status === null) return;
    this.#standing(asked);
    if (asked.status >= 400) return this.#failure(asked);
    this.#remembered(asked);
    if (asked.status === 201) this.#created(asked);
    if (/^\/sessions\/\w+\/end$/.test(asked.path)) this.#ended(asked);
    if (asked.path.endsWith('/abort')) this.#aborted(asked);
    if (asked.path.endsWith('/transcript')) this.#transcript(asked);
  }

  /**
   * A chat that was answered 503 has left nothing behind, if none under its key was answered otherwise, or not at all.
   */
  #refused({ turns }: State, { asked, deaths }: History): void {
    const chats = asked.filter(({ method, path }) => method === 'POST' && path.endsWith('/chat'));
    const sent = grouped(chats, ({ body }) => promptOf(body));
    for (const { turn, prompt, text, fence, finished } of turns.values()) {
      // A turn that expires before its first output stands, and its chat is answered by a status.
      const mayStand = sent
        .get(prompt)
        ?.some(({ status, json }) => status === null || status === 200 || json?.error?.code === 'session_expired');
      const refused = mayStand ? undefined : sent.get(prompt)?.find(({ status }) => status === 503);
      // A turn that another process sealed stands: it cannot know the chat's answer, unless there was no output, no
      // call and no stop. A dead process withdraws nothing.
      const stopped = ['aborted', 'expired', 'taken'].includes(turn.stopReason ?? '');
      const spoke = text !== '' || (turn.calls?.made ?? 0) + (turn.calls?.sent ?? 0) > 0;
      const sealed = finished !== null && finished.fence.epoch > 1 && (spoke || stopped);
      const died = deaths.some(
        ({ host, atMs }) =>
          host === refused?.host && atMs >= refused.answeredMs! && atMs < refused.answeredMs! + withdrawalMs,
      );
      if (refused !== undefined && !sealed && !(died && (spoke || fence.epoch === 1)))
        this.#fault(refused, 'refused', `503 and left ${turn.id} ${turn.status}`);
    }
  }

  #fault(asked: Asked, rule: string, what: string): void {
    this.wrong.push(`${rule}: ${asked.client} at ${asked.sentMs} ms: ${asked.method} ${asked.path} ${what}`);
  }

  #count(take: string, more: number): number {
    const count = (this.#takes.get(take) ?? 0) + more;
    this.#takes.set(take, count);
    return count;
  }

  /** Notes the facts that clients may rely on after this answer. */
  #learn(asked: Asked): void {
    const { method, path, status, json, answeredMs, stream, idempotencyKey } = asked;
    if (idempotencyKey !== null)
      this.#firstMs.set(nameOf(asked), Math.min(asked.sentMs, this.#firstMs.get(nameOf(asked)) ?? Infinity));
    const known = (id: string): void =>
      void this.#knownMs.set(id, Math.min(answeredMs!, this.#knownMs.get(id) ?? Infinity));
    if (status === 201) known(json.id);
    const revoked = /keys\/(\w+)\/revoke$/.exec(path)?.[1];
    if (status === 200 && revoked !== undefined)
      this.#revokedMs.set(revoked, Math.min(answeredMs!, this.#revokedMs.get(revoked) ?? Infinity));
    if (stream === null) return;
    if (method === 'POST') known(stream.turnId);
    const seen = this.#seen.get(stream.turnId) ?? [];
    seen.push(...stream.events.map(({ atMs, id }) => ({ atMs, position: id })));
    this.#seen.set(stream.turnId, seen);
  }

  /**
   * Headers of every answer, and of every authenticated one; each of the latter belongs to a request that was counted,
   * except on a 503.
   */
  #standing(asked: Asked): void {
    const { headers, status, keyId } = asked;
    if (!String(headers['x-request-id']).startsWith('req_')) this.#fault(asked, 'shape', 'has no request id');
    if (keyId === null || status === 401) return;
    const [limit, left, reset] = ['limit', 'remaining', 'reset'].map((name) => headers[`x-ratelimit-${name}`]);
    // A store that was away before the lookup of the key gives no headers.
    if (left === undefined) {
      // A request with an invalid key has no headers either: too many such requests from an address are 429 (contract
      // 4).
      if (status === 429 && this.#states.some(({ keys }) => keys.get(keyId)?.machine.state === 'revoked')) return;
      if (status !== 503) this.#fault(asked, 'limits', `${status} without rate headers`);
    } else if (status === 503) {
      // If the store was away after that, the process reports the budget that it last knew.
      if (!(Number(left) >= 0 && Number(left) <= Number(limit)))
        this.#fault(asked, 'limits', `503 was told of ${left} left of ${limit}`);
    } else if (this.#count(`${keyId} ${left} ${reset}`, -1) < 0) {
      this.#fault(asked, 'limits', `was told of ${left} left, which no step of the store said`);
    }
    const revokedMs = this.#revokedMs.get(keyId);
    if (!this.#forgets && status !== 503 && revokedMs !== undefined && asked.sentMs > revokedMs + revocationMs)
      this.#fault(asked, 'states', `${status} with a revoked key`);
  }

  #failure(asked: Asked): void {
    const { status, json, headers, path, sentMs } = asked;
    const code = json?.error?.code;
    if (!shapes.has(`${status} ${json?.error?.type} ${code}`) || json.request_id !== headers['x-request-id'])
      this.#fault(asked, 'shape', `${status} ${JSON.stringify(json)}`);
    if (status === 500 && !this.#ranOut(asked)) this.#fault(asked, 'shape', 'failed for no reason of its client');
    if (this.#forgets) return;
    const [, sessionId, turnId] = /^\/sessions\/(\w+)(?:\/turns\/(\w+))?/.exec(path) ?? [];
    const known = (id: string | undefined): boolean => id !== undefined && (this.#knownMs.get(id) ?? Infinity) < sentMs;
    // A turn whose withdrawal was never confirmed was reported as failed, and is not there.
    const withdrawn = turnId !== undefined && this.#states.some((state) => state.withdrawn.has(turnId));
    if (
      (code === 'session_not_found' && known(sessionId)) ||
      (code === 'turn_not_found' && known(turnId) && !withdrawn)
    )
      this.#fault(asked, 'presence', code);
  }

  /**
   * Whether the request, or an earlier one that it joined, may have begun a turn that ran out of its time before its
   * first output.
   */
  #ranOut(asked: Asked): boolean {
    const firstMs = Math.min(asked.sentMs, this.#firstMs.get(nameOf(asked)) ?? Infinity);
    return asked.path.endsWith('/chat') && asked.answeredMs! - firstMs >= turnMsMax;
  }

  /** The same request made the same thing, and only the first answer does not say that it did. */
  #remembered(asked: Asked): void {
    const { idempotencyKey, status, json, stream } = asked;
    const id = status === 201 ? json.id : (stream?.turnId ?? acceptedIn(stream));
    if (idempotencyKey === null || id === undefined || this.#forgets) return;
    const name = nameOf(asked);
    const made = this.#made.get(name) ?? id;
    this.#made.set(name, id);
    const withdrawn = this.#states[0]!.withdrawn.has(made);
    if (made !== id && !withdrawn) this.#fault(asked, 'idempotency', `made ${made} and ${id}`);
  }

  #created(asked: Asked): void {
    if (asked.keyId !== null && !this.#states.some(({ sessions }) => sessions.has(asked.json.id)))
      this.#fault(asked, 'presence', `made ${asked.json.id}, which is not stored`);
  }

  #ended(asked: Asked): void {
    const { id, status } = asked.json;
    // An end may be forgotten before it is answered.
    if (status === 'open' && !this.#forgets) this.#fault(asked, 'states', 'was answered with an open session');
    // A clock that is ahead may show a live session as expired.
    const state = this.#states[0]!.sessions.get(id)?.session.machine.state;
    if (!this.#forgets && state !== 'ended' && state !== 'expired')
      this.#fault(asked, 'presence', `left ${id} ${state}`);
  }

  #aborted(asked: Asked): void {
    const { id, status } = asked.json;
    if (status !== 'streaming' && !this.#oracle.versions(id).some(({ turn }) => turn.status === status))
      this.#fault(asked, 'presence', `was told ${status}, which ${id} is not`);
  }

  /** Checks that a transcript contains the output seen before. */
  #transcript(asked: Asked): void {
    for (const { turn_id: turnId, role, content } of asked.json.data) {
      if (role !== 'assistant' || turnId === null) continue;
      const length = codePoints(content);
      if (!this.#oracle.versions(turnId).some(({ text }) => between(text, 0, length) === content))
        this.#fault(asked, 'prefix', `${turnId} never said ${JSON.stringify(content)}`);
      const seen = (this.#seen.get(turnId) ?? []).filter(({ atMs }) => atMs < asked.sentMs);
      const most = Math.max(0, ...seen.map(({ position }) => position));
      if (!this.#forgets && length < most)
        this.#fault(asked, 'prefix', `${turnId} has ${length} characters of ${most} that were seen`);
    }
  }

  #streamOf(asked: Asked, stream: Stream): void {
    if (stream.turnId !== undefined) this.#stream(asked, stream);
    else if (asked.method === 'GET') this.#events(asked, stream);
    else this.#accepted(asked, stream);
  }

  /** A message that was accepted for a person is stored, and no turn answers it (D2). */
  #accepted(asked: Asked, stream: Stream): void {
    const id = acceptedIn(stream);
    if (id === undefined) {
      if (stream.over === 'ended') this.#fault(asked, 'desk', 'was accepted without an id');
      return;
    }
    const messages = this.#states.flatMap(({ sessions }) => [...sessions.values()].flatMap(({ rows }) => rows));
    const stored = messages.find((row) => typeof row !== 'string' && row.id === id);
    if (typeof stored !== 'object' || stored.content !== asked.body.message)
      this.#fault(asked, 'desk', `was accepted as ${id}, which is ${JSON.stringify(stored)}`);
  }

  /** Each event of a session has one number for all readers, without a gap (D4). */
  #events(asked: Asked, { cursor, events }: Stream): void {
    if (this.#forgets) return;
    let number = cursor ?? 0;
    for (const { event, id, data } of events) {
      if (id !== ++number) this.#fault(asked, 'desk', `was sent ${id} ${event} in place of ${number}`);
      // Calls that wait are answered or declined later.
      const text = JSON.stringify([event, { ...data, tool_calls: [] }]);
      const known = this.#eventsSeen.get(`${asked.path} ${id}`) ?? text;
      this.#eventsSeen.set(`${asked.path} ${id}`, known);
      if (known !== text) this.#fault(asked, 'desk', `was sent ${text} as ${id}, and another reader ${known}`);
    }
  }

  #stream(asked: Asked, { turnId, cursor, events, over }: Stream): void {
    const versions = this.#oracle.versions(turnId);
    let position = cursor ?? 0;
    let seen = '';
    for (const [index, { event, id, data }] of events.entries()) {
      if ((event === 'turn.started') !== (index === 0 && cursor === null))
        this.#fault(asked, 'stream', `${event} as event ${index}`);
      if (event === 'message.delta') {
        seen += data.text;
        position += codePoints(data.text);
      } else if (event !== 'turn.started' && !event.startsWith('tool.') && index !== events.length - 1)
        this.#fault(asked, 'stream', `${event} before the end`);
      if (id !== position) this.#fault(asked, 'stream', `${event} ${id} at ${position}`);
    }
    const from = cursor ?? 0;
    if (seen !== '' && !versions.some(({ text }) => between(text, from, position) === seen)) {
      this.#fault(
        asked,
        'prefix',
        `saw ${JSON.stringify(seen)} from ${from} of ${turnId}: ${JSON.stringify(versions.map(({ text }) => text))}`,
      );
    }
    const last = events.at(-1);
    const isTerminal = last !== undefined && ['turn.completed', 'turn.aborted', 'error'].includes(last.event);
    if (over === 'ended' && !isTerminal) this.#fault(asked, 'stream', `${turnId} ended after ${last?.event}`);
    if (isTerminal && !this.#meant(last, versions, position)) {
      const states = versions.map(
        ({ turn, text }) =>
          `${turn.status} (${codePoints(text)} characters, ${turn.inputTokens} and ${turn.outputTokens} tokens)`,
      );
      this.#fault(
        asked,
        'terminal',
        `was told ${last.event} ${JSON.stringify(last.data)} at ${position}, and ${turnId} is ${states.join(', ')}`,
      );
    }
    const prompt = asked.method === 'POST' ? promptOf(asked.body) : null;
    // A reply is a stream only once the provider has begun to answer; an empty answer, an abort or an expiry may come
    // first. Of a call that was to wait nothing is shown.
    const began =
      seen !== '' ||
      versions.some(({ turn }) => (turn.calls?.made ?? 0) > 0) ||
      events.some(({ event }) => event === 'tool.started') ||
      last?.event !== 'error' ||
      last.data.code === 'session_expired';
    if (prompt !== null && !began && !this.#forgets)
      this.#fault(asked, 'begun', `${turnId} is a stream of nothing and ${JSON.stringify(last.data)}`);
    if (prompt !== null && !versions.some((turn) => turn.prompt === prompt))
      this.#fault(asked, 'stream', `${turnId} answers another question`);
  }

  /**
   * Whether the turn ended as its readers saw. A turn that a failover forgot is an `api_error`, as is a turn withdrawn
   * for a fault of the server.
   */
  #meant({ event, data }: StreamEvent, versions: readonly TurnState[], position: number): boolean {
    if (data.code === 'api_error' && this.#forgets) return true;
    // A turn whose begin a failover forgot needs no withdrawal.
    if (
      data.code === 'assistant_unavailable' &&
      this.#forgets &&
      !versions.some(({ turn }) => this.#states[0]!.turns.has(turn.id))
    )
      return true;
    // A process that owns its store reports a certain refusal at once; if it dies before it has sealed the turn, its
    // session may have expired by the next start.
    if (
      data.code === 'api_error' &&
      this.#alone &&
      versions.some(({ finished }) => finished !== null && finished.fence.epoch > 1)
    )
      return true;
    // The disk refused the end of the turn, and a person took the session before the next try.
    if (data.code === 'api_error' && this.#alone && versions.some(({ turn }) => turn.stopReason === 'taken'))
      return true;
    if (
      (data.code === 'assistant_unavailable' || data.code === 'api_error') &&
      this.#states.some(({ withdrawn }) => versions.some(({ turn }) => withdrawn.has(turn.id)))
    )
      return true;
    return versions.some(({ turn, text }) => {
      if (codePoints(text) !== position) return false;
      if (event === 'turn.aborted') return turn.status === 'aborted';
      if (event === 'error') return turn.status === 'failed' && turn.errorCode === data.code;
      return (
        turn.status === 'completed' &&
        turn.inputTokens === data.usage.input_tokens &&
        turn.outputTokens === data.usage.output_tokens
      );
    });
  }
}
