/**
 * P10: sessions and keys that are made, used and watched through processes whose clocks are a minute off. Redis has the
 * right time.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { House } from '../api/house.ts';
import type { Experiment, Trial } from './experiment.ts';
import { Ground, lackingRedis } from './ground.ts';
import { talk, type Listener } from './listener.ts';
import { clockAhead, lackingFaketime } from './moved-clock.ts';

/** Seconds by which a deadline may be early or late. */
const toleranceSeconds = 0.25;
/**
 * Milliseconds after a session's last second within which its turn may be cut: the process that runs it has to be
 * notified.
 */
const cutMs = 1000;
const pollMs = 10;

export const deadlinesAgree: Experiment = {
  promise: 'P10',
  name: 'skew',
  does: 'sessions and keys on three processes, one a minute ahead and one a minute behind',
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 2 },
  lacking: (store) => lackingFaketime() ?? lackingRedis(store),
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const houses = [await ground.server(clockAhead(-60)), await ground.server(clockAhead(60)), await ground.server()];
    const credentialId = (
      await houses[0]!.console(`/workspaces/${houses[0]!.workspaceId}/assistants/${ground.assistantId}`)
    ).json.model.credential_id;
    return (trial) => agree(trial, houses, { provider: 'openai', name: 'speaker', credential_id: credentialId });
  },
};

const now = (): number => Date.now() / 1000;

async function agree(trial: Trial, houses: readonly House[], model: object): Promise<void> {
  const { random, seed } = trial;
  const seconds = random.between(3, 5);
  const assistant = await random.pick(houses).assistant({ model, max_call_seconds: seconds });
  const askedAt = now();
  const session = await random.pick(houses).session(assistant.id);
  const madeAt = now();
  const ends: number = session.expires_at;
  trial.must(ends === session.created_at + seconds, `the session is made at ${session.created_at} and ends at ${ends}`);
  within(trial, session.created_at, askedAt, madeAt, 'the session was made');
  const { key } = await random.pick(houses).newKey({ expires_at: ends, limits: { requests: 100_000 } });
  const talking = talk(random.pick(houses), session.id, { tag: `s${seed}`, words: 1_000_000, delayMs: 5 });
  const closing = await random.pick(houses).session(assistant.id);
  const closer = random.pick(houses);
  const closedFrom = now();
  const closed = (await closer.ask(`/sessions/${closing.id}/end`, { method: 'POST' })).json;
  within(trial, closed.ended_at, closedFrom, now(), 'a session was ended');
  await Promise.all([
    ...houses.map((house) => watch(trial, house, session.id, key, ends)),
    cutInTime(trial, talking, ends),
  ]);
}

/** A time in whole seconds that a record was given between two moments. */
function within(trial: Trial, second: number, from: number, to: number, what: string): void {
  const fits = second >= Math.floor(from - toleranceSeconds) && second <= to + toleranceSeconds;
  trial.must(fits, `${what} at ${second}, and between ${from.toFixed(3)} and ${to.toFixed(3)}`);
}

/** Asks one process again and again from before the last second until after it. */
async function watch(trial: Trial, house: House, id: string, key: string, ends: number): Promise<void> {
  const found = (asked: number, answered: number, over: boolean, what: string): void => {
    const [early, late] = [over ? ends - answered : 0, over ? 0 : asked - ends];
    trial.measured('ms early', Math.max(0, early * 1000));
    trial.measured('ms late', Math.max(0, late * 1000));
    trial.must(early <= toleranceSeconds, `${what} was over ${early.toFixed(3)} s before its time`);
    trial.must(late <= toleranceSeconds, `${what} was not over ${late.toFixed(3)} s after its time`);
  };
  await pause(Math.max(0, ends - 1.5 - now()) * 1000);
  while (now() < ends + 2 * toleranceSeconds) {
    const asked = now();
    const { json } = await house.ask(`/sessions/${id}`);
    found(asked, now(), json.status === 'expired', 'the session');
    const askedKey = now();
    const answer = await house.ask('/assistants', { key });
    found(askedKey, now(), answer.json.error?.code === 'expired_api_key', 'the key');
    await pause(pollMs);
  }
  const { status, json } = await house.ask(`/sessions/${id}/chat`, { body: { message: 'Hello' } });
  trial.must(
    status === 409 && json.error.code === 'session_expired',
    `a turn after the session's time is answered ${status} ${json.error?.code}`,
  );
}

async function cutInTime(trial: Trial, talking: Listener, ends: number): Promise<void> {
  await talking.over;
  const lateMs = (now() - ends) * 1000;
  // The session may expire before the first output on a busy machine, which is answered with 409.
  trial.must(
    [200, 409].includes(talking.status) && talking.code === 'session_expired',
    `the turn ended as ${talking.status} ${talking.code}`,
  );
  trial.must(lateMs >= -toleranceSeconds * 1000, `the turn was cut ${-lateMs} ms before its session's time`);
  trial.took('until cut', Math.max(0, lateMs), cutMs);
}
