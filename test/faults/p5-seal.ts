/** P5: a process dies in the middle of turns; how soon each is sealed, and its session takes the next one. */
import { setTimeout as pause } from 'node:timers/promises';
import type { House } from '../api/house.ts';
import { sessionOf, transcriptOf } from '../api/talk.ts';
import { limits } from '../../src/base/limits.ts';
import type { Experiment, Trial } from './experiment.ts';
import { checkPartial, checkUsable, Ground, lackingRedis, until } from './ground.ts';
import { begun, talk, type Listener } from './listener.ts';

const promisedMs = limits.leaseMs + 1000;
/** A client that polls without a pause would itself delay the seal that it waits for. */
const betweenAsksMs = 100;

interface Orphan {
  readonly id: string;
  readonly tag: string;
  readonly listener: Listener;
}

export const sealedInTime: Experiment = {
  promise: 'P5',
  name: 'seal',
  does: 'kill -9 of a process with turns in all phases',
  stores: ['lmdb', 'redis'],
  abreast: { lmdb: 2, redis: 6 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const first = await ground.server();
    if (store === 'lmdb') {
      let house = first;
      return async (trial) => {
        const { orphans } = await orphaned(trial, ground, house);
        house = await ground.server();
        // Starts have no deadline: their time depends on the machine.
        const startedAt = performance.now();
        await Promise.all(orphans.map((orphan) => checkSealed(trial, house, orphan, startedAt, false)));
      };
    }
    const survivors = [first, await ground.server()];
    return async (trial) => {
      const { orphans, killedAt } = await orphaned(trial, ground, await ground.server());
      await Promise.all(
        orphans.map((orphan) => checkSealed(trial, trial.random.pick(survivors), orphan, killedAt, true)),
      );
    };
  },
};

/** Turns that wait for their first word, stream, have fallen silent or begin just now; then the process is killed. */
async function orphaned(
  { random, seed }: Trial,
  ground: Ground,
  victim: House,
): Promise<{ orphans: Orphan[]; killedAt: number }> {
  const phases = {
    waiting: { words: 1, firstMs: 600_000 },
    streaming: { words: 1_000_000, delayMs: 2 },
    silent: { words: 2, delayMs: 600_000 },
  };
  const begin = async (index: number): Promise<Orphan> => {
    const phase = random.pick(['waiting', 'streaming', 'silent'] as const);
    const tag = `s${seed}t${index}`;
    const id = await ground.session(victim);
    const said = { tag, ...phases[phase] };
    const listener = phase === 'waiting' ? talk(victim, id, said) : await begun(victim, id, said);
    if (phase === 'waiting') await until(async () => (await sessionOf(victim, id)).active_turn_id);
    else await listener.heard();
    return { id, tag, listener };
  };
  const orphans = await Promise.all(Array.from({ length: random.between(1, 4) }, (_, index) => begin(index)));
  // Leases are renewed meanwhile.
  await pause(random.delay(1500, 6000));
  victim.child.kill('SIGKILL');
  const killedAt = performance.now();
  await Promise.all([victim.ended, ...orphans.map(({ listener }) => listener.over)]);
  return { orphans, killedAt };
}

/** Some customers keep requesting the next turn, some read, and some come only after the lease. */
async function checkSealed(
  trial: Trial,
  house: House,
  { id, tag, listener }: Orphan,
  killedAt: number,
  leased: boolean,
): Promise<void> {
  // No other process can find the turn on the embedded store meanwhile: the next start seals it.
  const way = trial.random.pick(leased ? ['ask', 'look', 'leave'] : ['ask', 'look']);
  if (way === 'ask') {
    // A refused turn leaves nothing behind; the last turn is the one accepted.
    const last = await until(async () => {
      const next = talk(house, id, { tag: `${tag}next`, words: 1 });
      await next.answered;
      if (next.status === 409) await pause(betweenAsksMs);
      return next.status === 409 ? null : next;
    });
    trial.took('until usable', performance.now() - killedAt, promisedMs);
    await last.over;
    trial.must(last.ending === 'turn.completed', `${tag}: the next turn is answered ${last.status} ${last.code}`);
    const messages = (await house.ask(`/sessions/${id}/transcript`)).json.data;
    if (listener.seen === '')
      return trial.must(messages.length === 2, `${tag}: it said nothing, and left ${messages.length - 2} messages`);
    const [, partial] = messages;
    trial.must(
      partial.status === 'partial' && partial.content.startsWith(listener.seen),
      `${tag}: ${partial.status}, ${partial.content.length} of ${listener.seen.length} characters seen`,
    );
    return;
  }
  if (way === 'leave') await pause(Math.max(0, killedAt + promisedMs - performance.now()));
  const { active_turn_id: active } = await sessionOf(house, id);
  if (way === 'leave' && active !== null)
    trial.late.push(`${tag}: not sealed ${promisedMs} ms after the kill, and nobody had looked`);
  await until(async () => (await sessionOf(house, id)).active_turn_id === null);
  if (way === 'look') trial.took('until sealed', performance.now() - killedAt, promisedMs);
  if (listener.seen !== '') await checkPartial(trial, house, id, { tag, seen: listener.seen });
  else trial.must((await transcriptOf(house, id)).length === 0, `${tag}: it said nothing, and left something`);
  await checkUsable(trial, house, id, `${tag}next`);
}
