/** The ground of experiments: a store, servers on it, and an assistant whose words can be told apart. */
import { setTimeout as pause } from 'node:timers/promises';
import { must, openHouse, type House } from '../api/house.ts';
import { credentialOf, sessionOf, transcriptOf } from '../api/talk.ts';
import { temporaryFolder, type Owner } from '../folders.ts';
import type { ServerOptions } from '../process.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import type { StoreKind, Trial } from './experiment.ts';
import { begun } from './listener.ts';
import { lackingNetworks, Network, type Wire } from './network.ts';
import { wayToRedis, type Way } from './way.ts';
import { begins, openSpeaker, wordsOf, type Speaker } from './words.ts';

export const secret = 'a-secret-of-the-tests-that-is-long-enough';

export const lackingRedis = (store: StoreKind): string | null => (store === 'redis' ? whyNoRedis() : null);

export const lackingNetworkOfRedis = (store: StoreKind): string | null => lackingNetworks() ?? lackingRedis(store);

export interface Member<To = Way> {
  readonly house: House;
  readonly way: To;
}

export class Ground {
  readonly #t: Owner;
  readonly #folder: string;
  /** Address of a Redis outside this ground. */
  #network: Network | null = null;
  readonly store: StoreKind;
  /** Null on the embedded store, and on a cluster. */
  readonly redis: RedisServer | null;
  readonly speaker: Speaker;
  assistantId = '';
  /** The store's address; null on the embedded store. */
  readonly #url: string | null;

  private constructor(
    t: Owner,
    folder: string,
    store: StoreKind,
    redis: RedisServer | null,
    speaker: Speaker,
    url = redis?.url ?? null,
  ) {
    this.#t = t;
    this.#folder = folder;
    this.store = store;
    this.redis = redis;
    this.speaker = speaker;
    this.#url = url;
  }

  static async open(
    t: Owner,
    store: StoreKind,
    settings: readonly string[] = appendOnly,
    folder?: string,
  ): Promise<Ground> {
    const redis = store === 'redis' ? await RedisServer.start(...settings) : null;
    if (redis !== null) t.teardown(() => redis.stop());
    return new Ground(t, folder ?? (await temporaryFolder(t)), store, redis, await openSpeaker(t));
  }

  /** Uses a cluster that the caller has started. */
  static async onCluster(t: Owner, url: string): Promise<Ground> {
    return new Ground(t, await temporaryFolder(t), 'redis', null, await openSpeaker(t), url);
  }

  /** Starts Redis in a separate network. */
  static async apart(t: Owner): Promise<Ground> {
    const network = await Network.open(t);
    const redis = await RedisServer.startWithin(
      network.within,
      ...appendOnly,
      '--bind',
      '0.0.0.0',
      '--protected-mode',
      'no',
    );
    t.teardown(() => redis.stop());
    const ground = new Ground(t, await temporaryFolder(t), 'redis', redis, await openSpeaker(t));
    ground.#network = network;
    return ground;
  }

  /**
   * Starts a server on the store, only one at a time on the embedded store. It connects to Redis over `url`, if that is
   * another route, and runs within a program if one is given. `command`: a program other than the built one.
   */
  async server(
    env: Readonly<Record<string, string>> = {},
    redisUrl = this.#url,
    how: Pick<ServerOptions, 'within' | 'onOutput' | 'command'> = {},
  ): Promise<House> {
    const place: Record<string, string> =
      this.store === 'redis' ? { PARLEY_STORE: redisUrl! } : { PARLEY_STORE: 'lmdb:./data' };
    const settings = {
      ...place,
      PARLEY_SECRET: secret,
      PARLEY_ALLOW_PRIVATE_PROVIDERS: '1',
      PARLEY_LOG: 'silent',
      ...env,
    };
    const house = await openHouse(this.#t, { folder: this.#folder, embedded: true, env: settings, ...how });
    if (this.assistantId === '') await this.#furnish(house);
    return house;
  }

  async #furnish(house: House): Promise<void> {
    await must(
      () =>
        house.console(`/workspaces/${house.workspaceId}`, { method: 'PATCH', body: { turns_in_flight_max: 10_000 } }),
      200,
    );
    const credential = await credentialOf(house, 'openai', this.speaker.baseUrl);
    const assistant = await house.assistant({
      model: { provider: 'openai', name: 'speaker', credential_id: credential.id },
    });
    this.assistantId = assistant.id;
  }

  /** Starts a server with a separate proxy to Redis. */
  async member(): Promise<Member> {
    const { way, url } = await wayToRedis(this.#t, this.redis!.port);
    return { way, house: await this.server({}, url) };
  }

  /** Starts a server with a separate wire into the network of Redis. */
  async wired(): Promise<Member<Wire>> {
    const way = await this.#network!.wire();
    return { way, house: await this.server({}, `redis://${way.address}:${this.redis!.port}`) };
  }

  async session(house: House, fields: object = {}): Promise<string> {
    return (await house.session(this.assistantId, fields)).id;
  }
}

/** Opens so many, one after the other. */
export async function several<T>(count: number, open: () => Promise<T>): Promise<T[]> {
  const all: T[] = [];
  while (all.length < count) all.push(await open());
  return all;
}

const pollMs = 25;

/** Asks every now and then until the answer is there. */
export async function until<T>(
  ask: () => Promise<T | null | undefined | false> | T | null | undefined | false,
): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    await pause(pollMs);
  }
}

/** Resolves when the session has no turn in flight. */
export const sealed = (house: House, sessionId: string): Promise<boolean> =>
  until(async () => (await sessionOf(house, sessionId)).active_turn_id === null);

/**
 * Checks a turn that was cut, as by the death of its process, against the part that a client has seen: `whose` names it
 * in a violation.
 */
export async function checkPartial(
  trial: Trial,
  house: House,
  sessionId: string,
  whose: { readonly tag: string; readonly seen: string },
  due = 'partial error api_error',
): Promise<void> {
  const messages = await transcriptOf(house, sessionId);
  const partial = messages.at(-1);
  const told = `${whose.tag} (${sessionId})`;
  trial.must(messages.length === 2, `${told}: ${messages.length} messages instead of 2`);
  if (partial?.role !== 'assistant') return trial.must(false, `${told}: there is no reply in the transcript`);
  trial.must(
    partial.content.startsWith(whose.seen),
    `${told}: ${whose.seen.length} characters were seen, and the ${partial.content.length} stored do not begin with them: ${differenceOf(whose.seen, partial.content)}`,
  );
  trial.must(
    begins(whose.tag, partial.content),
    `${told}: the provider did not say ${JSON.stringify(partial.content.slice(-80))}`,
  );
  const ended = `${partial.status} ${partial.stop_reason} ${partial.error_code}`;
  trial.must(ended === due, `${told}: it ended as ${ended}`);
}

function differenceOf(seen: string, stored: string): string {
  const at = [...seen].findIndex((_, index) => seen[index] !== stored[index]);
  return `at ${at}: ${JSON.stringify(seen.slice(at, at + 40))} and ${JSON.stringify(stored.slice(at, at + 40))}`;
}

/** A whole turn on a session that must be usable. */
export async function checkUsable(trial: Trial, house: House, sessionId: string, tag: string): Promise<void> {
  const again = await begun(house, sessionId, { tag, words: 3 });
  await again.over;
  const whole = again.seen === wordsOf(tag, 3) && again.ending === 'turn.completed';
  trial.must(
    whole,
    `${sessionId}: the next turn is answered ${again.status} ${again.code ?? again.ending}: ${JSON.stringify(again.seen)}`,
  );
}
