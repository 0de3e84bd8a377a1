/**
 * Clients that do as clients do: create, chat, abort, resume, end, read, hammer; and an operator who revokes and
 * switches off.
 */
import type { Asked } from './history.ts';
import type { SimulatedHost } from './host.ts';
import { ask, type Request } from './network.ts';
import { operatorToken, type ClientKey, type World } from './world.ts';

/** Ids that clients share, so that they get in each other's way. */
export class Gossip {
  readonly sessions: string[] = [];
  readonly turns: { sessionId: string; turnId: string }[] = [];
  /** Calls that a client has heard wait, the newest last. */
  readonly waiting: { readonly sessionId: string; readonly calls: readonly WaitingCall[] }[] = [];
  number = 0;
}

interface WaitingCall {
  readonly call_id: string;
  readonly wants: 'result' | 'approval';
}

const attemptsMax = 4;

export class Client {
  readonly name: string;
  readonly #world: World;
  readonly #gossip: Gossip;
  readonly #key: ClientKey;
  readonly #thinkMs: number;

  constructor(world: World, gossip: Gossip, key: ClientKey, name: string) {
    this.#world = world;
    this.#gossip = gossip;
    this.#key = key;
    this.name = name;
    this.#thinkMs = world.scheduler.random.pick([50, 500, 3000]);
  }

  /** Does one thing after the other until it is late. */
  async run(untilMs: number): Promise<void> {
    const { scheduler } = this.#world;
    const { random } = scheduler;
    const deeds: (() => Promise<unknown>)[] = [
      () => this.create(),
      this.chat,
      this.chat,
      this.chat,
      this.chat,
      this.answer,
      this.abort,
      this.watch,
      this.read,
      this.end,
      this.hammer,
      ...(this.#world.seeds.people.length > 0 ? [this.askForPerson, this.follow] : []),
    ];
    while (scheduler.now < untilMs) {
      await scheduler.sleep(random.delay(this.#thinkMs, 10_000));
      await (this.#gossip.sessions.length === 0 ? this.create() : random.pick(deeds).call(this));
    }
  }

  /** Talks on one new session of the first assistant after the other, so that its rollouts have turns. */
  async talk(untilMs: number): Promise<void> {
    const { scheduler, seeds } = this.#world;
    while (scheduler.now < untilMs) {
      await scheduler.sleep(scheduler.random.delay(this.#thinkMs / 5, 2000));
      const { status, json } = await this.create(seeds.assistantIds[0]);
      if (status !== 201) continue;
      for (let turns = scheduler.random.between(1, 3); turns > 0; turns--) await this.say(json.id);
    }
  }

  async create(assistantId = this.#world.scheduler.random.pick(this.#world.seeds.assistantIds)): Promise<Asked> {
    const body = { assistant_id: assistantId };
    const asked = await this.#insist({ method: 'POST', path: '/sessions', body, headers: this.#onceOnly() });
    if (asked.status === 201) this.#gossip.sessions.push(asked.json.id);
    return asked;
  }

  async chat(): Promise<Asked> {
    const { random } = this.#world.scheduler;
    // The newest are chosen more often, and so more often by two.
    const sessions = this.#gossip.sessions;
    const sessionId = random.chance(0.5) ? sessions.at(-1)! : random.pick(sessions);
    return this.say(sessionId, random.chance(0.25) ? random.between(1, 4) : Infinity);
  }

  /** Sends a unique message, and leaves after so many events. */
  async say(sessionId: string, patience = Infinity): Promise<Asked> {
    const { random } = this.#world.scheduler;
    const asked = await this.#converse(sessionId, { message: `question ${this.#gossip.number++}` }, patience);
    if (random.chance(0.6) && this.#gossip.waiting.at(-1)?.sessionId === sessionId && patience === Infinity)
      await this.answer(sessionId);
    return asked;
  }

  /**
   * Answers calls that wait, or did once: each with what it wants, approved or declined; now and then not as it must
   * be.
   */
  async answer(sessionId?: string): Promise<unknown> {
    const { random } = this.#world.scheduler;
    const { waiting } = this.#gossip;
    const newest = waiting.filter((one) => sessionId === undefined || one.sessionId === sessionId).slice(-3);
    if (newest.length === 0) return;
    const found = sessionId === undefined ? random.pick(newest) : newest.at(-1)!;
    const answers = found.calls.map(({ call_id, wants }) =>
      wants === 'result'
        ? { call_id, output: `output ${this.#gossip.number++}` }
        : { call_id, approved: random.chance(0.6) },
    );
    if (random.chance(0.1)) answers.pop();
    if (random.chance(0.1)) answers.push({ call_id: random.pick(waiting).calls[0]!.call_id, approved: true });
    if (answers.length > 0)
      return this.#converse(found.sessionId, { tool_results: answers }, random.chance(0.2) ? 2 : Infinity);
  }

  async #converse(sessionId: string, body: object, patience: number): Promise<Asked> {
    const { random } = this.#world.scheduler;
    const asked = await this.#insist(
      { method: 'POST', path: `/sessions/${sessionId}/chat`, body, headers: this.#onceOnly() },
      (asked) => {
        const turnId = asked.stream?.turnId;
        if (turnId !== undefined && this.#gossip.turns.at(-1)?.turnId !== turnId)
          this.#gossip.turns.push({ sessionId, turnId });
        return (asked.stream?.events.length ?? 0) >= patience;
      },
    );
    this.#learn(sessionId, asked.stream?.events.at(-1)?.data.tool_calls);
    // A message that was accepted has no turn.
    if (asked.stream?.turnId !== undefined && asked.stream.over !== 'ended' && random.chance(0.8))
      await this.#resume(sessionId, asked);
    return asked;
  }

  #learn(sessionId: string, calls: readonly WaitingCall[] | undefined): void {
    if (calls !== undefined && calls.length > 0) this.#gossip.waiting.push({ sessionId, calls });
  }

  async abort(): Promise<unknown> {
    const turn = this.#recentTurn();
    return turn && this.#ask({ method: 'POST', path: `/sessions/${turn.sessionId}/turns/${turn.turnId}/abort` });
  }

  /** A second reader, from the beginning or from somewhere. */
  async watch(): Promise<unknown> {
    const turn = this.#recentTurn();
    const { random } = this.#world.scheduler;
    const query = random.chance(0.5) ? '' : `after=${random.between(0, 12)}`;
    return turn && this.#ask({ method: 'GET', path: `/sessions/${turn.sessionId}/turns/${turn.turnId}/events`, query });
  }

  async askForPerson(): Promise<unknown> {
    const id = this.#world.scheduler.random.pick(this.#gossip.sessions);
    return this.#ask({ method: 'POST', path: `/sessions/${id}/ask`, body: { reason: 'a refund' } });
  }

  /** Reads some events of a session, from the beginning or from somewhere. */
  async follow(): Promise<unknown> {
    const { random } = this.#world.scheduler;
    const count = random.between(1, 12);
    const path = `/sessions/${random.pick(this.#gossip.sessions)}/events`;
    const query = `after=${random.chance(0.5) ? 0 : random.between(0, 8)}`;
    const hasEnough = ({ stream }: Asked): boolean => (stream?.events.length ?? 0) >= count;
    return this.#ask(
      { method: 'GET', path, query },
      hasEnough,
      random.pick(this.#world.hosts),
      random.between(50, 4000),
    );
  }

  async read(): Promise<unknown> {
    const id = this.#world.scheduler.random.pick(this.#gossip.sessions);
    const path = this.#world.scheduler.random.chance(0.3) ? `/sessions/${id}` : `/sessions/${id}/transcript`;
    const asked = await this.#ask({ method: 'GET', path, query: path.endsWith('transcript') ? 'limit=100' : '' });
    this.#learn(id, asked.json?.pending_tool_calls);
    return asked;
  }

  /** Asks every process for the newest sessions. */
  async survey(): Promise<unknown> {
    const sessions = this.#gossip.sessions.slice(-12);
    return Promise.all(
      this.#world.hosts.flatMap((host) =>
        sessions.map((id) => this.#ask({ method: 'GET', path: `/sessions/${id}` }, undefined, host)),
      ),
    );
  }

  async end(): Promise<unknown> {
    const { random } = this.#world.scheduler;
    return (
      random.chance(0.5) && this.#ask({ method: 'POST', path: `/sessions/${random.pick(this.#gossip.sessions)}/end` })
    );
  }

  /** Sends as many requests at once as exhaust a budget, now and then. */
  async hammer(): Promise<unknown> {
    const { random } = this.#world.scheduler;
    if (random.chance(0.8)) return;
    const request: Request = { method: 'GET', path: `/sessions/${random.pick(this.#gossip.sessions)}` };
    return Promise.all(Array.from({ length: random.between(5, 30) }, () => this.#ask(request)));
  }

  #recentTurn(): { sessionId: string; turnId: string } | undefined {
    const { turns } = this.#gossip;
    return turns[Math.max(0, turns.length - this.#world.scheduler.random.between(1, 4))];
  }

  #onceOnly(): Record<string, string> {
    return this.#world.scheduler.random.chance(0.5) ? { 'idempotency-key': `again ${this.#gossip.number++}` } : {};
  }

  /** From where the stream was cut, at any process, until it ends or patience does. */
  async #resume(sessionId: string, first: Asked): Promise<void> {
    const { scheduler } = this.#world;
    const { turnId } = first.stream!;
    let cursor = first.stream!.events.at(-1)?.id ?? 0;
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      await scheduler.sleep(scheduler.random.delay(300, 3000));
      const place = scheduler.random.chance(0.5)
        ? { query: `after=${cursor}` }
        : { headers: { 'last-event-id': String(cursor) } };
      const asked = await this.#ask({ method: 'GET', path: `/sessions/${sessionId}/turns/${turnId}/events`, ...place });
      this.#learn(sessionId, asked.stream?.events.at(-1)?.data.tool_calls);
      if (asked.stream?.over === 'ended') return;
      cursor = asked.stream?.events.at(-1)?.id ?? cursor;
    }
  }

  /** Retries under an `Idempotency-Key` after no answer, or an answer that allows it. */
  async #insist(request: Request, leaves?: (asked: Asked) => boolean): Promise<Asked> {
    const { scheduler } = this.#world;
    for (let attempt = 1; ; attempt++) {
      const asked = await this.#ask(request, leaves);
      const again = asked.status === null || (asked.status === 503 && asked.json?.error.code === 'api_error');
      if (!again || attempt === attemptsMax || request.headers?.['idempotency-key'] === undefined) return asked;
      await scheduler.sleep(scheduler.random.delay(500, 5000));
    }
  }

  #ask(
    request: Request,
    leaves?: (asked: Asked) => boolean,
    host = this.#world.scheduler.random.pick(this.#world.hosts),
    leavesAfterMs = Infinity,
  ): Promise<Asked> {
    const headers = { ...request.headers, authorization: `Bearer ${this.#key.text}` };
    return ask(
      this.#world,
      { name: this.name, keyId: this.#key.id },
      host,
      { ...request, headers },
      leaves,
      leavesAfterMs,
    ).over;
  }
}

/**
 * Switches assistants off and on, and revokes a key; the last assistant and the last key are left alone,
 * and the first assistant in a run with rollouts.
 */
export async function runOperator(world: World, untilMs: number): Promise<void> {
  const { scheduler, seeds, hosts } = world;
  const { random } = scheduler;
  const workspace = `/console/api/workspaces/${seeds.workspaceId}`;
  const post = (host: SimulatedHost, path: string): Promise<Asked> =>
    ask(world, { name: 'operator', keyId: null }, host, {
      method: 'POST',
      path: workspace + path,
      headers: { authorization: `Bearer ${operatorToken}` },
    }).over;
  const mayRevoke = random.chance(0.5);
  while (scheduler.now < untilMs) {
    await scheduler.sleep(random.between(1000, 30_000));
    const revokes = mayRevoke && random.chance(0.3);
    const assistantIds = seeds.hasReleases ? seeds.assistantIds.slice(1) : seeds.assistantIds;
    const id = random.pick((revokes ? seeds.keys.map((key) => key.id) : assistantIds).slice(0, -1));
    await post(
      random.pick(hosts),
      revokes
        ? `/keys/${id}/revoke`
        : `/assistants/${id}/${random.pick(['disable', 'enable', 'enable', 'unpublish', 'publish'])}`,
    );
  }
}
