/**
 * C3: any service that a call depends on falls silent in any of its states. Within its deadlines the call listens again
 * or is closed, and has one message of each side for each turn.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { clipOf, type Caller } from '../api/caller.ts';
import type { House } from '../api/house.ts';
import { sessionOf, transcriptOf } from '../api/talk.ts';
import type { Experiment, Trial } from './experiment.ts';
import { lackingRedis, until } from './ground.ts';
import { Loudspeaker } from './loudspeaker.ts';
import { Microphone } from './microphone.ts';
import { asking } from './script.ts';
import { Stage } from './stage.ts';
import { reach, states, type State } from './states.ts';

/**
 * Milliseconds after which every deadline of a call has passed; the deadline of a chat that keeps the call busy is its
 * turn's.
 */
const settledMs = 60_000;
/** A peer that answers no ping is given up only after as long. */
const [silentMs, pollMs] = [60_000, 100];
const busyMs = 15_000;

interface Dependency {
  readonly name: string;
  readonly does: string;
  readonly stores: Experiment['stores'];
  /** States in which a dependency freezes: while the assistant listens, and before and during its spoken reply. */
  readonly hears?: string;
  readonly speaks?: readonly [string, string];
  /** A message that is answered at length. */
  readonly answered?: string;
  /** Freezes what was not frozen from the beginning; resolves with the thaw. */
  freeze?(scene: Scene): Promise<() => Promise<void>>;
  /** Whether the call can be talked in afterwards. */
  readonly goesOn: boolean;
}

interface Scene {
  readonly stage: Stage;
  readonly house: House;
  readonly clip: Buffer;
}

interface Ear {
  readonly caller: Caller;
  readonly loudspeaker: Loudspeaker;
  readonly microphone: Microphone;
  readonly state: State;
}

const dependencies: readonly Dependency[] = [
  {
    name: 'model',
    does: 'a model that answers nothing, or falls silent in a reply',
    stores: ['lmdb', 'redis'],
    answered: `stall ${asking(1, 3)}`,
    goesOn: true,
  },
  {
    name: 'voice',
    does: 'a voice that makes no sentence, or no third one',
    stores: ['lmdb'],
    speaks: [',hang_at=0', ',hang_at=2'],
    goesOn: false,
  },
  {
    name: 'transcription',
    does: 'a transcription that never comes',
    stores: ['lmdb'],
    hears: 'hang_at=0',
    goesOn: true,
  },
  { name: 'store', does: 'a Redis that is stopped', stores: ['redis'], freeze: stopRedis, goesOn: true },
  { name: 'reports', does: 'a client that neither speaks nor reports any more', stores: ['lmdb'], goesOn: true },
  { name: 'connection', does: 'a client whose connection takes and gives nothing', stores: ['lmdb'], goesOn: false },
];

export const frozen: readonly Experiment[] = dependencies.map((dependency) => ({
  promise: 'C3',
  name: dependency.name,
  does: `${dependency.does}, in ${states.join(', ')}`,
  stores: dependency.stores,
  abreast: { lmdb: 2, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const stage = await Stage.open(t, store);
    const house = await stage.ground.server({ PARLEY_SYNTHETIC: '1' });
    const clip = await clipOf(house);
    return (trial) => freezeAll(trial, dependency, { stage, house, clip });
  },
}));

async function stopRedis({ stage: { ground } }: Scene): Promise<() => Promise<void>> {
  ground.redis!.signal('SIGSTOP');
  return async () => ground.redis!.signal('SIGCONT');
}

async function freezeAll(trial: Trial, dependency: Dependency, scene: Scene): Promise<void> {
  const ears = await Promise.all(states.map((state) => open(dependency, scene, state)));
  // A moment anywhere in the state.
  await pause(trial.random.between(0, 500));
  const thaw = await dependency.freeze?.(scene);
  const frozenAt = performance.now();
  for (const { microphone } of ears) microphone.speaks = false;
  try {
    await Promise.all(ears.map((ear) => settle(trial, dependency, scene, ear, frozenAt)));
  } finally {
    await thaw?.();
  }
  await Promise.all(ears.map((ear) => check(trial, dependency, scene, ear)));
}

async function open(
  { name, hears = 'texts=well', speaks = ['', ''], answered }: Dependency,
  { stage, house, clip }: Scene,
  state: State,
): Promise<Ear> {
  const speaking = state === 'speaking' || state === 'paused';
  const caller = await stage.call(house, await stage.assistant(house, hears, {}, speaks[speaking ? 1 : 0]));
  const ear = { caller, loudspeaker: new Loudspeaker(caller), microphone: new Microphone(caller, clip), state };
  await reach(state, {
    caller,
    house,
    microphone: ear.microphone,
    ...(name === 'voice' && { unanswered: asking(1, 2) }),
    ...(answered !== undefined && { answered }),
  });
  if (name === 'reports' || name === 'connection') {
    ear.loudspeaker.stop();
    ear.microphone.stop();
  }
  if (name === 'connection') caller.socket.pause();
  return ear;
}

/** Waits until the call listens again, or is closed. */
async function settle(
  trial: Trial,
  { name }: Dependency,
  { house }: Scene,
  { caller, state }: Ear,
  frozenAt: number,
): Promise<void> {
  const isOver = (): boolean => caller.socket.readyState >= 2 || caller.states().at(-1) === 'listening';
  const limitMs = name === 'connection' ? silentMs + settledMs : state === 'busy' ? busyMs : settledMs;
  const last = frozenAt + limitMs;
  // A client whose connection stands still learns of it from the session alone.
  const isSettled =
    name === 'connection' ? async () => (await sessionOf(house, caller.session.id)).active_call_id === null : isOver;
  while (!(await isSettled()) && performance.now() < last) await pause(pollMs);
  const now = caller.states().at(-1);
  trial.must(
    (await isSettled()) || (now === 'busy' && name !== 'connection'),
    `${caller.session.id} in ${state}: ${limitMs / 1000} s later it is ${now}: ${JSON.stringify(caller.heard.slice(-4))}`,
  );
  if (now !== 'busy') trial.took(`from ${state} to its end`, performance.now() - frozenAt);
  trial.count('calls');
}

/** Whether a message is answered to its end. A store that has just come back may refuse it first. */
async function isAnswered(caller: Caller): Promise<boolean> {
  void caller.closed.then((code) => caller.heard.push({ type: 'closed', code }));
  for (const last = performance.now() + settledMs; performance.now() < last;) {
    const before = caller.heard.length;
    caller.send({ type: 'message', text: asking(2, 1) });
    const end = await until(() =>
      performance.now() < last
        ? caller.heard
            .slice(before)
            .find(({ type }) => type === 'turn.completed' || type === 'turn.failed' || type === 'closed')
        : { type: 'late' },
    );
    if (end.type === 'turn.completed') return true;
    await pause(pollMs);
  }
  return false;
}

async function check(
  trial: Trial,
  { goesOn, name }: Dependency,
  { house }: Scene,
  { caller, state }: Ear,
): Promise<void> {
  const { id } = caller.session;
  if (goesOn && name !== 'reports' && state !== 'busy' && caller.socket.readyState === 1) {
    const before = caller.heard.length;
    trial.must(
      await isAnswered(caller),
      `${id} in ${state}: the next message has no answer: ${JSON.stringify(caller.heard.slice(before).filter(({ type }) => type !== 'audio.received'))}`,
    );
  }
  caller.socket.terminate();
  if (state === 'busy') return;
  await until(async () => (await sessionOf(house, id)).active_turn_id === null);
  const messages = await transcriptOf(house, id);
  const roles = messages.map(({ role }) => role).join(' ');
  trial.must(/^(?:user assistant ?)*$/.test(roles), `${id} in ${state}: the transcript holds ${roles}`);
  trial.must(
    messages.every(({ status }) => status !== 'streaming'),
    `${id} in ${state}: a reply has no end`,
  );
}
