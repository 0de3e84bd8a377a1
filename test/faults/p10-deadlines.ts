/**
 * P10: the last second of a session and of a key, over a restart with the clock moved to just before it. The clock is
 * the server's if it owns the store, and Redis's if the store is shared.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { transcriptOf } from '../api/talk.ts';
import type { House } from '../api/house.ts';
import type { Experiment, Trial } from './experiment.ts';
import { Ground, lackingRedis, sealed } from './ground.ts';
import { begun, talk, type Listener } from './listener.ts';
import { clockAhead, lackingFaketime, redisClockAhead } from './moved-clock.ts';
import { begins } from './words.ts';

/** Milliseconds after a session's last second within which its turn may be cut. */
const cutMs = 1000;

/** Seconds of tolerance for a process that only estimates the store's time. */
const toleranceSeconds = { lmdb: 0, redis: 0.25 } as const;

export const deadlinesHold: Experiment = {
  promise: 'P10',
  name: 'deadlines',
  does: 'max_call_seconds and a key’s expiry over a kill and a start with the clock moved',
  stores: ['lmdb', 'redis'],
  abreast: { lmdb: 2, redis: 2 },
  lacking: (store) => lackingFaketime() ?? lackingRedis(store),
  async open(t, store) {
    const ground = await Ground.open(t, store);
    // Time never goes back: each start is later than the one before.
    let ahead = 0;
    let house = await ground.server(clockAhead(ahead));
    const credentialId = (await house.console(`/workspaces/${house.workspaceId}/assistants/${ground.assistantId}`)).json
      .model.credential_id;
    return async (trial) => {
      const { random, seed } = trial;
      const seconds = random.between(60, 5000);
      const model = { provider: 'openai', name: 'speaker', credential_id: credentialId };
      const assistant = await house.assistant({ model, max_call_seconds: seconds });
      const { id, expires_at: ends } = await house.session(assistant.id);
      const { key } = await house.newKey({ expires_at: ends, limits: { requests: 100_000 } });
      const orphan = (await house.session(assistant.id)).id;
      const orphaned = await begun(house, orphan, { tag: `s${seed}o`, words: 1_000_000, delayMs: 5 });
      await orphaned.heard();
      await house.kill('SIGKILL');
      await orphaned.over;
      // Enough time is left for a start and a short wait.
      ahead = Math.ceil(ends - Date.now() / 1000 - random.between(4, 6));
      if (ground.redis !== null) {
        await ground.redis.kill();
        await ground.redis.run(redisClockAhead(ahead));
      }
      house = await ground.server(clockAhead(ground.redis === null ? ahead : random.between(-60, 60)));
      const now = (): number => Date.now() / 1000 + ahead;
      const cut = talk(house, id, { tag: `s${seed}c`, words: 1_000_000, delayMs: 5 });
      const tolerance = toleranceSeconds[store];
      await Promise.all([
        watch(trial, house, { id, key, ends, tolerance }, now),
        cutInTime(trial, cut, ends - tolerance, now),
      ]);
      await checkCut(trial, house, id, `s${seed}c`, cut);
      await sealed(house, orphan);
      const [, partial] = await transcriptOf(house, orphan);
      trial.must(
        partial.status === 'partial' && partial.content.startsWith(orphaned.seen),
        `the turn of the killed server is ${partial.status}, ${partial.content.length} of ${orphaned.seen.length} characters`,
      );
    };
  },
};

interface Watched {
  readonly id: string;
  readonly key: string;
  readonly ends: number;
  /** Time in seconds. */
  readonly tolerance: number;
}

/** Asks again and again from before the last second until after it. `now` is the store's wall clock. */
async function watch(
  trial: Trial,
  house: House,
  { id, key, ends, tolerance }: Watched,
  now: () => number,
): Promise<void> {
  const due = (asked: number, answered: number, found: boolean, what: string): void => {
    if (answered < ends - tolerance)
      trial.must(found === false, `${what} was over ${(ends - answered).toFixed(3)} s before its time`);
    if (asked >= ends + tolerance)
      trial.must(found === true, `${what} was not over ${(asked - ends).toFixed(3)} s after its time`);
  };
  let before = 0;
  while (now() < ends + 0.5) {
    const asked = now();
    const { json } = await house.ask(`/sessions/${id}`);
    due(asked, now(), json.status === 'expired', 'the session');
    const askedKey = now();
    const answer = await house.ask('/assistants', { key });
    due(askedKey, now(), answer.json.error?.code === 'expired_api_key', 'the key');
    if (asked < ends) before++;
    await pause(10);
  }
  trial.count(before > 0 ? 'watched over the second' : 'seen only after it');
  const { status, json } = await house.ask(`/sessions/${id}/chat`, { body: { message: 'Hello' } });
  trial.must(
    status === 409 && json.error.code === 'session_expired',
    `a turn after the session's time is answered ${status} ${json.error?.code}`,
  );
}

async function cutInTime(trial: Trial, cut: Listener, ends: number, now: () => number): Promise<void> {
  await cut.over;
  if (cut.status !== 200) return;
  const lateMs = (now() - ends) * 1000;
  trial.took('until cut', lateMs, cutMs);
  trial.must(lateMs >= 0, `the turn was cut ${-lateMs} ms before its session's time`);
}

async function checkCut(trial: Trial, house: House, id: string, tag: string, cut: Listener): Promise<void> {
  // A start on a busy machine may take the time left.
  if (cut.status !== 200)
    return trial.must(cut.code === 'session_expired', `the turn is answered ${cut.status} ${cut.code}`);
  trial.must(cut.ending === 'error' && cut.code === 'session_expired', `the turn ended as ${cut.ending} ${cut.code}`);
  const [, partial] = await transcriptOf(house, id);
  const ended = `${partial.status} ${partial.stop_reason} ${partial.error_code}`;
  trial.must(ended === 'partial expired session_expired', `it is stored as ${ended}`);
  trial.must(
    partial.content === cut.seen && begins(tag, partial.content),
    `${cut.seen.length} characters were seen, ${partial.content.length} are stored`,
  );
}
