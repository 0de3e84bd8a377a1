/**
 * P1: the process that owns a turn is stopped, or cut off from Redis, for less or more than its lease, and then
 * continues.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { transcriptOf } from '../api/talk.ts';
import type { House } from '../api/house.ts';
import { patient } from '../run/speed.mjs';
import type { Experiment, Trial } from './experiment.ts';
import { Ground, lackingNetworkOfRedis, lackingRedis, sealed, several, until, type Member } from './ground.ts';
import { begun, talk, type Listener } from './listener.ts';
import type { Wire } from './network.ts';
import { directions, type Way } from './way.ts';
import { begins } from './words.ts';

const sessionsCount = 4;
/** Milliseconds after which an owner that returns knows the turns that it has lost. */
const silentMs = patient(15_000);

export const oneWriter: Experiment = {
  promise: 'P1',
  name: 'owners',
  does: 'SIGSTOP, stalls and cuts of a turn’s owner, shorter and longer than its lease',
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 4 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const members = await several(3, () => ground.member());
    return (trial) => away(trial, ground, { members, faults: overProxy });
  },
};

/** The same with silent loss: no reset, no end, and packets sent meanwhile come when TCP retransmits them. */
export const oneWriterUnheard: Experiment = {
  promise: 'P1',
  name: 'network',
  does: 'packets between a turn’s owner and Redis lost in silence, one way or both, shorter and longer than its lease',
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 4 },
  lacking: lackingNetworkOfRedis,
  async open(t) {
    const ground = await Ground.apart(t);
    const members = await several(3, () => ground.wired());
    return (trial) => away(trial, ground, { members, faults: overWire });
  },
};

/** Faults of an owner; each resolves with the function that undoes it. */
type Faults<To> = readonly { readonly name: string; befall(owner: Member<To>, trial: Trial): Promise<() => unknown> }[];

const stopped = {
  name: 'stopped',
  befall: async ({ house }: Member) => (house.child.kill('SIGSTOP'), () => house.child.kill('SIGCONT')),
};
const stalled = {
  name: 'stalled',
  befall: async ({ way }: Member, { random }: Trial) => (way.stall(random.pick(directions)), () => way.mend()),
};
const cut = { name: 'cut', befall: async ({ way }: Member) => (way.close(), () => way.mend()) };
const slow = {
  name: 'slow',
  befall: async ({ way }: Member, { random }: Trial) => ((way.delayMs = random.between(50, 700)), () => way.mend()),
};
/** A fault listed twice comes twice as often. */
const overProxy: Faults<Way> = [stopped, stopped, stalled, stalled, cut, slow];

const overWire: Faults<Wire> = [
  { name: 'unheard', befall: ({ way }, { random }) => way.loseFor(random.pick(directions)) },
];

async function away<To>(
  trial: Trial,
  ground: Ground,
  { members, faults }: { readonly members: readonly Member<To>[]; readonly faults: Faults<To> },
): Promise<void> {
  const { random, seed } = trial;
  const owner = random.pick(members);
  const others = members.filter((each) => each !== owner);
  const talks = await Promise.all(
    Array.from({ length: sessionsCount }, async (_, index) => {
      const id = await ground.session(owner.house);
      const tag = `s${seed}t${index}`;
      const listener = await begun(owner.house, id, { tag, words: 1_000_000, delayMs: random.pick([2, 5, 20]) });
      await listener.heard();
      return { id, tag, listener, house: random.pick(others).house, next: [] as { tag: string; listener: Listener }[] };
    }),
  );
  const { name: fault, befall } = random.pick(faults);
  const forMs = random.chance(0.3) ? random.between(100, 4000) : random.between(4500, 8000);
  const undo = await befall(owner, trial);
  let back = false;
  // Others request the next turn all the while, and get it as soon as the owner's lease has expired.
  const successors = talks.map(async ({ id, tag, house, next }) => {
    while (!back) {
      const listener = talk(house, id, { tag: `${tag}n${next.length}`, words: 40, delayMs: 10 });
      await listener.over;
      if (listener.status === 200) next.push({ tag: `${tag}n${next.length}`, listener });
      else await pause(50);
    }
  });
  await pause(forMs);
  await undo();
  await until(async () => (await owner.house.ask('/assistants')).status === 200);
  await pause(300);
  back = true;
  await Promise.all(successors);
  // A busy machine may refuse an end, and then the turn continues.
  for (const { id, house } of talks)
    await until(async () => (await house.ask(`/sessions/${id}/end`, { method: 'POST' })).status === 200);
  const silent = Promise.all(talks.map(({ listener }) => listener.over)).then(() => true);
  trial.must(
    await Promise.race([silent, pause(silentMs, false, { ref: false })]),
    `an owner that was ${fault} goes on with a turn that is not its own`,
  );
  for (const each of talks)
    await checkOrder(
      trial,
      members.map(({ house }) => house),
      each,
      fault,
    );
}

interface Talk {
  readonly id: string;
  readonly tag: string;
  readonly listener: Listener;
  readonly next: readonly { readonly tag: string; readonly listener: Listener }[];
}

/**
 * Every reply has only words of its turn, in the order in which turns were begun, and all processes return the same.
 */
async function checkOrder(
  trial: Trial,
  houses: readonly House[],
  { id, tag, listener, next }: Talk,
  fault: string,
): Promise<void> {
  await Promise.all(houses.map((house) => sealed(house, id)));
  const transcripts = await Promise.all(houses.map((house) => transcriptOf(house, id)));
  const told = `${id} (owner ${fault})`;
  trial.must(
    transcripts.every((each) => JSON.stringify(each) === JSON.stringify(transcripts[0])),
    `${told}: not all processes tell the same transcript`,
  );
  const messages = transcripts[0]!;
  const turns = [{ tag, listener }, ...next];
  trial.count(next.length > 0 ? 'turns taken over' : 'turns kept');
  trial.must(messages.length === 2 * turns.length, `${told}: ${messages.length} messages of ${turns.length} turns`);
  for (const [index, turn] of turns.entries()) {
    const [user, reply] = [messages[2 * index], messages[2 * index + 1]];
    if (reply === undefined) continue;
    trial.must(
      user.role === 'user' && user.content.includes(` ${turn.tag} `),
      `${told}: ${turn.tag} is not at ${2 * index}: ${user.content}`,
    );
    trial.must(
      begins(turn.tag, reply.content),
      `${told}: ${turn.tag} holds what it was not told: ${JSON.stringify(reply.content.slice(-100))}`,
    );
    trial.must(
      reply.content.startsWith(turn.listener.seen),
      `${told}: ${turn.tag} was seen with ${turn.listener.seen.length} characters, and ${reply.content.length} are stored`,
    );
    trial.must(reply.status !== 'streaming', `${told}: ${turn.tag} is still streaming`);
  }
}
