/**
 * A1: a session's version changes by the stated rules alone, and a rollout's shares, counts and halt are exact. A
 * process is killed while sessions are created, turns are answered and an operator changes the rollout.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { rolloutPlace } from '../../src/host/release.ts';
import { textOf, type House } from '../api/house.ts';
import { assistantPath, operate, say, sessionOf, synthetic, transcriptOf } from '../api/talk.ts';
import type { Experiment, Trial } from './experiment.ts';
import { Ground, lackingRedis, sealed } from './ground.ts';

export interface RolloutsOptions {
  /** The program of the servers, if not the built one. */
  readonly command?: string;
}

/** The versions 1 and 2, by the word that their models say, and the draft, which nobody may hear. */
const words = { one: 1, two: 2, draft: null } as const;

interface Scene {
  readonly trial: Trial;
  /** The process that is killed. */
  readonly victim: House;
  readonly id: string;
  /** The changes of the rollout, in order. The answer of the last one may be lost. */
  readonly changes: Change[];
  /** The sessions whose creation was answered. */
  readonly known: Map<string, Known>;
  readonly rule: HaltRule | null;
  /** Time at which a session was answered that shows the halt; Infinity before. */
  haltedMs: number;
}

interface Change {
  readonly after: State;
  readonly askedMs: number;
  /** Infinity without an answer. */
  answeredMs: number;
}

/** The release as an operator has left it. */
interface State {
  readonly current: 1 | 2;
  readonly percent: number | null;
  /** Whether version 2 is a retired candidate: its sessions go to the current version with their next turn. */
  readonly isRetired: boolean;
}

interface Known {
  readonly version: number;
}

interface HaltRule {
  readonly failed_percent: number;
  readonly after_turns: number;
}

export const rolloutExperiment = ({ command }: RolloutsOptions = {}): Experiment => ({
  promise: 'A1',
  name: 'rollouts',
  does: 'kill -9 of a process amid sessions, turns and changes of a rollout',
  stores: ['lmdb', 'redis'],
  abreast: { lmdb: 2, redis: 4 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const start = (): Promise<House> => ground.server({}, undefined, command === undefined ? {} : { command });
    let house = await start();
    return async (trial) => {
      const id = await furnished(house);
      const victim = store === 'redis' ? await start() : house;
      const scene = await begun(trial, house, victim, id);
      await cut(scene);
      if (store === 'lmdb') house = await start();
      const state = await check(scene, house);
      if (state !== undefined) await proceed(scene, house, state);
    };
  },
});

export const rolloutsSurvive = rolloutExperiment();

/** An assistant with the versions 1, which is current, and 2, and another draft. */
async function furnished(house: House): Promise<string> {
  const { id } = await synthetic(house, 'text=one,tokens=3,delay_ms=2');
  await house.revise(id, { model: { provider: 'synthetic', name: 'text=two,tokens=3,delay_ms=2,fail_at=2' } });
  await change(house, id, 'rollback');
  await operate(house, 'PATCH', assistantPath(house, id), { model: { provider: 'synthetic', name: 'text=draft' } });
  return id;
}

const change = (house: House, id: string, verb: string, body: object = {}): Promise<any> =>
  operate(house, 'POST', assistantPath(house, id, `/${verb}`), body);

async function begun(trial: Trial, house: House, victim: House, id: string): Promise<Scene> {
  const { random } = trial;
  const rule = random.chance(0.5) ? { failed_percent: 50, after_turns: random.between(10, 14) } : null;
  const percent = random.between(30, 99);
  await change(house, id, 'rollout', { version: 2, percent, halt: rule });
  const changes = [{ after: { current: 1, percent, isRetired: false } as const, askedMs: 0, answeredMs: 0 }];
  return { trial, victim, id, changes, known: new Map(), rule, haltedMs: Infinity };
}

/** Sessions, turns and changes at once; then the process is killed. */
async function cut(scene: Scene): Promise<void> {
  const { victim, trial, rule } = scene;
  const { random } = trial;
  let isKilled = false;
  const clients = Array.from({ length: random.between(3, 8) }, async () => {
    while (!isKilled) await converse(scene).catch(() => {});
  });
  // With a rule nothing else moves a session, so that the halt is exact.
  const operator = (async () => {
    while (rule === null && !isKilled) {
      await pause(random.between(0, 40));
      if (!(await changed(scene))) return;
    }
  })();
  await pause(random.between(0, 800));
  victim.child.kill('SIGKILL');
  isKilled = true;
  await victim.ended;
  await Promise.all([...clients, operator]);
  trial.count('kills');
}

async function converse(scene: Scene): Promise<void> {
  const { victim, id, known, trial, changes, rule } = scene;
  const askedMs = performance.now();
  const session = await victim.session(id);
  const { assistant_version: version } = session;
  const answeredMs = performance.now();
  known.set(session.id, { version });
  const allowed = statesBetween(changes, askedMs, answeredMs).map((state) => versionOf(id, state, session.id));
  if (rule !== null && version === 1 && !allowed.includes(1)) scene.haltedMs = Math.min(scene.haltedMs, answeredMs);
  else
    trial.must(
      allowed.includes(version) && (version === 1 || rule === null || askedMs < scene.haltedMs),
      `${session.id} is on version ${version}, and ${[...new Set(allowed)].join(' or ')} was due`,
    );
  await (await say(victim, session.id)).rest();
}

const versionOf = (id: string, { current, percent }: State, sessionId: string): number =>
  percent !== null && rolloutPlace(id, 2, sessionId) < percent ? 2 : current;

/** The states that may have held at some time of the interval. */
const statesBetween = (changes: readonly Change[], fromMs: number, toMs: number): State[] =>
  changes
    .filter(({ askedMs }, index) => askedMs <= toMs && (changes[index + 1]?.answeredMs ?? Infinity) >= fromMs)
    .map(({ after }) => after);

type Way = [verb: string, body: object, after: State];

/** Makes a change of the rollout; false if its answer was lost. */
async function changed({ trial, victim, id, changes }: Scene): Promise<boolean> {
  const { random } = trial;
  const { current, percent } = changes.at(-1)!.after;
  const next = random.between(5, 99);
  // Only version 2 is rolled out: each session has one place.
  const rollout: Way = ['rollout', { version: 2, percent: next }, { current, percent: next, isRetired: false }];
  const ways: Way[] =
    percent === null
      ? current === 1
        ? [rollout]
        : [['rollback', {}, { current: 1, percent: null, isRetired: false }]]
      : [
          rollout,
          ['rollout/end', {}, { current, percent: null, isRetired: true }],
          ['rollout/promote', {}, { current: 2, percent: null, isRetired: false }],
          ['recall', {}, { current, percent, isRetired: false }],
        ];
  const [verb, body, after] = random.pick(ways);
  const made: Change = { after, askedMs: performance.now(), answeredMs: Infinity };
  changes.push(made);
  try {
    await change(victim, id, verb, body);
  } catch {
    return false;
  }
  made.answeredMs = performance.now();
  trial.count('changes');
  return true;
}

/** Compares the release, the sessions, the replies and the counts with each other; resolves with the last state. */
async function check(scene: Scene, house: House): Promise<State | undefined> {
  const { trial, id, changes, known, rule } = scene;
  for (const session of (await sessionsOf(house, id)).keys()) await sealed(house, session);
  const { version, candidate } = await operate(house, 'GET', assistantPath(house, id));
  const stored = { current: version, percent: candidate?.percent ?? null };
  // A change whose answer was lost may be stored or not.
  const due = changes.slice(changes.at(-1)!.answeredMs === Infinity ? -2 : -1);
  const found = due.find(({ after: { current, percent } }) => current === version && percent === stored.percent);
  trial.must(
    found !== undefined,
    `the release is ${JSON.stringify(stored)}, and the last changes were ${JSON.stringify(due)}`,
  );
  const sessions = await sessionsOf(house, id);
  for (const session of known.keys()) trial.must(sessions.has(session), `${session} is not in the list`);
  const counted = [await tallied(scene, house, sessions, 1), await tallied(scene, house, sessions, 2)];
  const { data } = await operate(house, 'GET', assistantPath(house, id, '/versions?order=asc'));
  for (const [index, { turns, failed_turns: failedTurns }] of data.entries())
    trial.must(
      turns === counted[index]!.turns && failedTurns === counted[index]!.failed,
      `version ${index + 1} counts ${turns} turns, ${failedTurns} of them failed, and has ${JSON.stringify(counted[index])}`,
    );
  const created = data.reduce((sum: number, one: any) => sum + one.sessions, 0);
  trial.must(created === sessions.size, `${created} sessions are counted, and there are ${sessions.size}`);
  if (rule !== null) checkHalt(trial, rule, candidate, counted[1]!.turns);
  trial.must(
    scene.haltedMs === Infinity || candidate.state === 'halted',
    `new sessions got version 1 only, and the rollout is ${candidate?.state}`,
  );
  return found?.after;
}

/** Each turn of version 2 fails. A turn that died with its process before its first output counts, and is in no transcript. */
function checkHalt(trial: Trial, rule: HaltRule, candidate: any, sealedTurns: number): void {
  const { turns, failed_turns: failed, state } = candidate;
  trial.must(
    turns >= sealedTurns && failed <= turns,
    `the candidate counts ${turns} turns, ${failed} failed, and ${sealedTurns} are sealed`,
  );
  const isExceeded = turns >= rule.after_turns && failed * 100 > rule.failed_percent * turns;
  trial.must(
    (state === 'halted') === isExceeded,
    `the rollout is ${state} after ${turns} turns, ${failed} of them failed, by the rule ${JSON.stringify(rule)}`,
  );
}

/** The ids of all sessions of the assistant with their versions. */
async function sessionsOf(house: House, id: string): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (let after = ''; ;) {
    const page = await operate(
      house,
      'GET',
      `/workspaces/${house.workspaceId}/sessions?assistant_id=${id}&limit=100${after}`,
    );
    for (const session of page.data) found.set(session.id, session.assistant_version);
    if (!page.has_more) return found;
    after = `&after=${page.next_cursor}`;
  }
}

/** Sealed turns of a version; each reply is checked against its version. */
async function tallied(
  { trial, known, changes }: Scene,
  house: House,
  sessions: ReadonlyMap<string, number>,
  version: number,
) {
  const tally = { turns: 0, failed: 0 };
  for (const [id, now] of sessions) {
    const replies = (await transcriptOf(house, id)).filter(({ role }) => role === 'assistant');
    for (const { assistant_version: answered, content, status, stop_reason: reason } of replies) {
      if (answered !== version) continue;
      tally.turns++;
      if (status !== 'completed' && reason === 'error') tally.failed++;
      for (const word of content.split(/\s+/).filter(Boolean))
        trial.must(words[word as keyof typeof words] === version, `${id}: version ${version} says ${word}`);
    }
    const first = known.get(id)?.version;
    // A turn that was withdrawn for the dead process has moved its session.
    const mayBe = [first, ...changes.map(({ after }) => after.current)];
    if (replies.length === 0 && first !== undefined)
      trial.must(mayBe.includes(now), `${id} was on ${first} and is on ${now} without a turn`);
  }
  return tally;
}

/** Takes one more turn on some sessions, and with a rule as many as lead to the exact turn of the halt. */
async function proceed({ trial, id, rule, known, changes }: Scene, house: House, { isRetired }: State): Promise<void> {
  const path = assistantPath(house, id);
  for (const [session] of [...known].slice(-6)) {
    const { version, candidate } = await operate(house, 'GET', path);
    const { assistant_version: before, status } = await sessionOf(house, session);
    if (status !== 'open') continue;
    const reply = textOf(await (await say(house, session)).rest())
      .trim()
      .split(' ')[0];
    const { assistant_version: after } = await sessionOf(house, session);
    trial.must(words[reply as keyof typeof words] === after, `${session} is on ${after} and is answered ${reply}`);
    const moves = before === 2 && version === 1 && (isRetired || candidate?.state === 'halted');
    const mayBeRecalled = changes.length > 1;
    trial.must(
      moves ? after === version : after === before || (mayBeRecalled && after === version),
      `${session} went from ${before} to ${after} while ${JSON.stringify({ version, candidate })}`,
    );
  }
  if (rule === null) return;
  for (;;) {
    const { candidate: before } = await operate(house, 'GET', path);
    if (before.state === 'halted') break;
    const session = await house.session(id);
    if (session.assistant_version !== 2) continue;
    await (await say(house, session.id)).rest();
    await sealed(house, session.id);
    const { candidate: after } = await operate(house, 'GET', path);
    trial.must(after.turns === before.turns + 1, `a turn took the count from ${before.turns} to ${after.turns}`);
    trial.must(
      (after.state === 'halted') === after.turns >= rule.after_turns,
      `the rollout is ${after.state} after ${after.turns} failed turns by the rule ${JSON.stringify(rule)}`,
    );
    if (after.turns > before.turns + 1 || after.turns > rule.after_turns) break;
  }
  trial.count('halts');
}
