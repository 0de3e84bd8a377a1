/**
 * W1: a webhook's event exists if and only if the end that it reports is stored, and reaches the webhook at least once,
 * signed, with the same id and bytes. The process is killed around the moment in which turns and sessions end.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { House } from '../api/house.ts';
import { sessionOf, transcriptOf } from '../api/talk.ts';
import { patient } from '../run/speed.mjs';
import { openReceiver, type Received, type Receiver } from '../webhook-receiver.ts';
import type { Experiment, Trial } from './experiment.ts';
import { Ground, lackingRedis, sealed } from './ground.ts';
import { begun, type Listener } from './listener.ts';
import { told } from './tool-house.ts';

const events = ['turn.completed', 'turn.failed', 'session.ended', 'session.expired'];

interface Scene {
  readonly ground: Ground;
  readonly receiver: Receiver;
  /** The ends that are stored, by the sessions of all repetitions. */
  readonly ends: Map<string, readonly string[]>;
  readonly waitMs: number;
}

/** Longer than the lease of a dead process on a delivery, the sweep that finds it, and its attempt. */
const waitMsMax = patient(150_000);

export interface EventsOptions {
  /** The program of the servers, if not the built one. */
  readonly command?: string;
  /** Milliseconds after which an event that has not come is missing. */
  readonly waitMs?: number;
}

export const eventExperiment = ({ command, waitMs = waitMsMax }: EventsOptions = {}): Experiment => ({
  promise: 'W1',
  name: 'events',
  does: 'kill -9 of a process around the end of turns and sessions',
  stores: ['lmdb', 'redis'],
  abreast: { lmdb: 2, redis: 4 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const receiver = await openReceiver(t);
    const start = (): Promise<House> => ground.server({}, undefined, command === undefined ? {} : { command });
    let house = await start();
    receiver.secret = (await told(house, '/webhooks', { url: receiver.url, events })).secret;
    const scene: Scene = { ground, receiver, ends: new Map(), waitMs };
    return async (trial) => {
      const refused = new Set<string>();
      receiver.answer = (id) => {
        if (refused.has(id) || !trial.random.chance(0.1)) return 204;
        refused.add(id);
        return trial.random.pick([500, null]);
      };
      const victim = store === 'redis' ? await start() : house;
      const sessions = await cut(trial, scene, victim);
      if (store === 'lmdb') house = await start();
      for (const id of sessions) scene.ends.set(id, await endsOf(house, id));
      await check(trial, scene, sessions);
    };
  },
});

export const eventForEachEnd = eventExperiment();

/** Sessions whose turns and lives end about now; then the process is killed. */
async function cut({ random }: Trial, { ground, receiver }: Scene, victim: House): Promise<string[]> {
  const count = random.between(1, 4);
  const sessions = await Promise.all(Array.from({ length: count }, () => ground.session(victim)));
  const listeners: Listener[] = [];
  const before = receiver.received.length;
  await Promise.all(
    sessions.map(async (id, index) => {
      const said = { tag: `w${index}`, words: random.between(1, 4), delayMs: random.pick([0, 2, 10]) };
      const listener = await begun(victim, id, said);
      listeners.push(listener);
      const way = random.pick(['complete', 'abort', 'end', 'end later']);
      if (way === 'complete') return;
      if (way === 'end later') await listener.over;
      const path = way === 'abort' ? `turns/${listener.turnId}/abort` : 'end';
      // The answer may be cut by the kill.
      void victim.ask(`/sessions/${id}/${path}`, { method: 'POST' }).catch(() => {});
    }),
  );
  // Before the ends, between an end and its event, while an event is on its way, or after it.
  const moment = random.pick(['now', 'sealed', 'received', 'later']);
  if (moment === 'sealed') await Promise.race([listeners[0]!.over, pause(2000)]);
  if (moment === 'received') await Promise.race([receiver.until((all) => all.length > before), pause(2000)]);
  await pause(moment === 'later' ? random.delay(200, 800) : random.delay(0, 20));
  victim.child.kill('SIGKILL');
  await Promise.all([victim.ended, ...listeners.map(({ over }) => over)]);
  return sessions;
}

/** The ends of a session that are stored, by the names of their events. */
async function endsOf(house: House, id: string): Promise<string[]> {
  await sealed(house, id);
  const { status } = await sessionOf(house, id);
  const turns = (await transcriptOf(house, id)).filter(({ role, turn_id: turnId }) => role === 'assistant' && turnId);
  return [
    ...turns.map((message) => `${message.turn_id} ${endOf(message)}`),
    ...(status === 'open' ? [] : [`session ${status}`]),
  ];
}

const endOf = ({ status, stop_reason: reason }: { status: string; stop_reason: string }): string =>
  status === 'completed' ? 'completed' : reason === 'aborted' ? 'aborted' : 'failed';

const nameOf = ({ event: { data } }: Received): string => `${data['turn_id'] ?? 'session'} ${data['status']}`;

async function check(trial: Trial, { receiver, ends, waitMs }: Scene, sessions: readonly string[]): Promise<void> {
  const eventsOf = (id: string): Received[] =>
    receiver.received.filter(({ event, answered }) => event.data['session_id'] === id && answered === 204);
  const missing = (): string[] =>
    sessions.flatMap((id) => {
      const names = eventsOf(id).map(nameOf);
      return ends.get(id)!.flatMap((end) => (names.includes(end) ? [] : [`${id}: the end ${end} has no event`]));
    });
  const cut = new AbortController();
  const waited = pause(waitMs, undefined, { signal: cut.signal }).catch(() => {});
  await Promise.race([receiver.until(() => missing().length === 0), waited]);
  cut.abort();
  for (const problem of missing()) trial.must(false, problem);
  for (const id of sessions) trial.count('ends', ends.get(id)!.length);
  // Events of earlier repetitions too: one without an end may come later.
  for (const problem of problemsOf(receiver.received, ends)) trial.must(false, problem);
}

/** Violations by requests that have come, where the stored ends of some sessions are known. */
export function problemsOf(received: readonly Received[], ends: ReadonlyMap<string, readonly string[]>): string[] {
  const problems: string[] = [];
  const firsts = new Map<string, Received>();
  const idsOfEnds = new Map<string, string>();
  for (const one of received) {
    const { session_id: sessionId } = one.event.data;
    const [known, name] = [ends.get(sessionId), nameOf(one)];
    if (known !== undefined && !known.includes(name))
      problems.push(`${sessionId}: the event ${name} has no stored end; stored are ${known.join(', ')}`);
    if (!one.isSigned) problems.push(`${one.id} is not signed with the webhook's secret`);
    const first = firsts.get(one.id) ?? one;
    firsts.set(one.id, first);
    if (first.text !== one.text) problems.push(`${one.id} came with other bytes than before`);
    const end = `${sessionId} ${name}`;
    const id = idsOfEnds.get(end) ?? one.id;
    idsOfEnds.set(end, id);
    if (id !== one.id) problems.push(`${end}: came as ${id} and as ${one.id}`);
  }
  return problems;
}
