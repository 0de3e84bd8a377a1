/** Two processes on one store; one loses the answers to its steps as the test says. */
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { secondsOf } from '../../src/base/clock.ts';
import { limits } from '../../src/base/limits.ts';
import { takeStep } from '../../src/store/steps.ts';
import { StoreUnavailable } from '../../src/store/store.ts';
import { Scene, withSteps } from '../host/scene.ts';

export type Verb =
  | 'beginTurn'
  | 'appendOutput'
  | 'finishTurn'
  | 'withdrawTurn'
  | 'renewTurn'
  | 'session'
  | 'outputAfter'
  | 'takeOverTurn';
export const verbs: readonly Verb[] = [
  'beginTurn',
  'appendOutput',
  'finishTurn',
  'withdrawTurn',
  'renewTurn',
  'session',
  'outputAfter',
  'takeOverTurn',
];

/** The fate of a step: `late` is applied when the test says so, long after its sender has given up. */
export type Loss = 'the answer' | 'the step' | 'late';

export const unanswered = { message: 'no answer' };
export const remember = { scope: 'key_1 /sessions/ses_1/chat', key: 'k', bodyDigest: 'd' };

/** A process whose steps get lost as the test says, and another one beside it. */
export async function open() {
  const made = await Scene.open();
  const losses = new Map<Verb, Loss>();
  const late: (() => Promise<unknown>)[] = [];
  const lossy =
    (verb: Verb) =>
    async (...given: unknown[]) => {
      const take = (): Promise<unknown> => takeStep(made.store, verb, given);
      const loss = losses.get(verb);
      if (loss === undefined) return take();
      if (loss === 'the answer') await take();
      if (loss === 'late') late.push(take);
      throw new StoreUnavailable('no answer');
    };
  const shared = { leaseMs: limits.leaseMs };
  const scene = made.beside(
    withSteps(made.store, { ...shared, ...Object.fromEntries(verbs.map((verb) => [verb, lossy(verb)])) }),
  );
  const other = made.beside(withSteps(made.store, shared));
  const pass = (ms: number): Promise<void> => passing(made, ms);
  const arrives = async (): Promise<void> => {
    for (const take of late.splice(0)) await take().catch(() => {});
  };
  const close = (): void => [scene, other].forEach(({ host }) => host.close());
  return { scene, other, losses, pass, arrives, close };
}

/** Time passes in steps that let what fell due happen. */
export async function passing({ clock }: Scene, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 50) {
    clock.advance(Math.min(left, 50));
    for (let turn = 0; turn < 3; turn++) await turnOfTheLoop();
  }
}

/** Returns all that a turn could have left in a new session. */
export async function left({ store, workspaceId, clock }: Scene, sessionId: string) {
  const now = secondsOf(clock.now());
  const [usage] = await store.usage.read(workspaceId, {
    assistantIds: null,
    start: now - 600,
    end: now + 60,
    bucketSeconds: 86400,
  });
  const session = await store.sessions.read(workspaceId, sessionId);
  return {
    state: session!.record.machine.state,
    messageCount: session!.record.messageCount,
    messages: (await store.sessions.messages(workspaceId, sessionId, { limit: 100, after: null, order: 'asc' })).items
      .length,
    memory: await store.requests.find(workspaceId, remember.scope, remember.key, clock.now()),
    slots: await store.turns.inFlight(workspaceId),
    turns: usage!.turns,
  };
}

export const nothing = { state: 'open', messageCount: 0, messages: 0, memory: null, slots: 0, turns: 0 };
