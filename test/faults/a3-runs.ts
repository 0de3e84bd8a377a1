/**
 * A3: a run of tests never calls a tool; it survives its process or says so. The process that plays a run, or a replay
 * of conversations with tool calls, is killed at any moment.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { countingTool, type CountingTool } from '../api/counting-tool.ts';
import type { House } from '../api/house.ts';
import { end, operate, say } from '../api/talk.ts';
import { patient } from '../run/speed.mjs';
import type { Experiment, StoreKind, Trial } from './experiment.ts';
import { Ground, lackingRedis, until } from './ground.ts';

const lookUp = { name: 'look_up', description: 'Looks up.', parameters: { type: 'object' } };
/** Time within which a run whose process died continues, or is interrupted. */
const promisedMs = 30_000;
/** Processes in a row that may begin a run without progress. */
const attemptsMax = 3;

export interface RunsOptions {
  /** The program of the servers, if not the built one. */
  readonly command?: string;
  /** Milliseconds after which a run that has not ended never will. */
  readonly waitMs?: number;
}

interface Scene {
  readonly ground: Ground;
  readonly tool: CountingTool;
  /** Path of the assistant, whose model calls the tool in each turn. */
  readonly path: string;
  /** The ids of its tests, in the order in which they are played. */
  readonly tests: readonly string[];
  /** Conversations that are stored. */
  readonly sessions: number;
  readonly waitMs: number;
  start(): Promise<House>;
}

/** The request, and the parts that the finished run must have. */
interface Wanted {
  readonly body: object;
  /** The ids of the tests; null for a replay. */
  readonly tests: readonly string[] | null;
  readonly repeat: number;
  readonly of: number;
}

export const runExperiment = ({ command, waitMs = patient(100_000) }: RunsOptions = {}): Experiment => ({
  promise: 'A3',
  name: 'runs',
  does: 'kill -9 of a process that plays a run of tests or a replay',
  stores: ['lmdb', 'redis'],
  abreast: { lmdb: 2, redis: 6 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const start = (): Promise<House> => ground.server({}, undefined, command === undefined ? {} : { command });
    const first = await start();
    const tool = await countingTool(t, first, { functions: [lookUp] });
    const scene: Scene = { ground, tool, ...(await furnish(first, tool)), waitMs, start };
    // The embedded store has one process at a time: a repetition ends with the next one's.
    let house = first;
    return async (trial) => {
      house = await repetition(trial, scene, store, house);
    };
  },
});

export const survivesItsProcess = runExperiment();

/** An assistant whose model calls the tool, its tests, and conversations in which it has called the tool. */
async function furnish(house: House, tool: CountingTool): Promise<Pick<Scene, 'path' | 'tests' | 'sessions'>> {
  const model = { provider: 'synthetic', name: 'tokens=2,call=look_up,first_ms=30,delay_ms=5' };
  const { id } = await house.assistant({ model, tool_ids: [tool.id] });
  const path = `/workspaces/${house.workspaceId}/assistants/${id}`;
  const tests: string[] = [];
  for (let count = 0; count < 6; count++) {
    const steps = Array.from({ length: 1 + (count % 3) }, () => ({
      message: 'Hello',
      expect: { calls: [{ name: 'look_up' }] },
    }));
    const results = count % 2 === 0 ? { tool_results: { look_up: [{ output: 'found' }] } } : {};
    tests.push((await operate(house, 'POST', `${path}/tests`, { name: `T${count}`, steps, ...results })).id);
  }
  const sessions = 4;
  for (let count = 0; count < sessions; count++) {
    const session = await house.session(id);
    await (await say(house, session.id)).rest();
    await end(house, session.id);
  }
  return { path, tests, sessions };
}

function drawn({ random }: Trial, { tests, sessions }: Scene): Wanted {
  if (random.chance(0.3)) {
    const of = random.between(1, sessions);
    return { body: { version: 1, replay: { sessions: of } }, tests: null, repeat: 1, of };
  }
  const count = random.between(1, tests.length);
  const wanted = tests.slice(0, count);
  const repeat = random.between(1, 3);
  return { body: { version: 'draft', test_ids: wanted, repeat }, tests: wanted, repeat, of: count };
}

/** Starts a run and kills the process that plays it; resolves with a process that is alive afterwards. */
async function repetition(trial: Trial, scene: Scene, store: StoreKind, before: House): Promise<House> {
  const { random } = trial;
  const { tool, path, start, waitMs } = scene;
  const reached = tool.reached.length;
  const wanted = drawn(trial, scene);
  let victim = store === 'redis' ? await start() : before;
  const { id } = await operate(victim, 'POST', `${path}/test-runs`, wanted.body);
  // A death costs the time of a lease on Redis.
  const kills = store === 'redis' ? 1 : random.pick([1, 1, 2, 4]);
  let alive = before;
  for (let killed = 0; killed < kills; killed++) {
    if (random.chance(0.4) && !(await progressed(victim, `${path}/test-runs/${id}`, waitMs))) {
      trial.must(false, `${id} is running ${waitMs} ms after ${killed === 0 ? 'its start' : 'its process died'}`);
      return alive;
    }
    await pause(random.pick([0, random.delay(0, 100), random.delay(0, 1500)]));
    victim.child.kill('SIGKILL');
    await victim.ended;
    if (store === 'lmdb') victim = alive = await start();
  }
  await check(trial, scene, alive, `${path}/test-runs/${id}`, wanted, kills);
  trial.must(tool.reached.length === reached, `${tool.reached.length - reached} calls of a run have reached the tool`);
  trial.count('runs');
  return alive;
}

/** Waits until a part of the run is done; resolves with false if none is after `waitMs`. */
async function progressed(house: House, path: string, waitMs: number): Promise<boolean> {
  const since = performance.now();
  const { done } = (await operate(house, 'GET', path)).progress;
  let isLate = false;
  await until(async () => {
    const { status, progress } = await operate(house, 'GET', path);
    if (progress.done > done || !isOpen(status)) return true;
    return (isLate = performance.now() - since > waitMs);
  });
  return !isLate;
}

const isOpen = (status: string): boolean => ['queued', 'running'].includes(status);

/** Waits for the run to continue and to end, and compares it with what was asked for. */
async function check(
  trial: Trial,
  { waitMs }: Scene,
  house: House,
  path: string,
  wanted: Wanted,
  kills: number,
): Promise<void> {
  const since = performance.now();
  const first = await operate(house, 'GET', path);
  let run = first;
  let continuedMs: number | null = null;
  while (isOpen(run.status)) {
    const ms = performance.now() - since;
    if (ms > waitMs) return trial.must(false, `${run.id} is ${run.status} ${Math.round(ms)} ms after its process died`);
    await pause(50);
    const answer = await house.console(path);
    // A store that is slow for a moment is no fault of the run.
    if (answer.status === 503) continue;
    run = answer.json;
    if (run.progress.done > first.progress.done) continuedMs ??= performance.now() - since;
  }
  const isOver = run.status === first.status;
  if (!isOver) trial.took('until a run continues', continuedMs ?? performance.now() - since, promisedMs);
  if (run.status === 'interrupted') {
    trial.count('interrupted');
    return trial.must(kills >= attemptsMax, `${run.id} is interrupted after ${kills} deaths`);
  }
  for (const problem of problemsOf(run, wanted)) trial.must(false, `${run.id}: ${problem}`);
}

/** Differences between a run that has ended and what was asked for. */
export function problemsOf(run: any, { tests, repeat, of }: Omit<Wanted, 'body'>): string[] {
  const problems: string[] = [];
  const { done, of: stated } = run.progress;
  if (done !== of || stated !== of) problems.push(`${done} of ${stated} parts are done instead of ${of}`);
  if (run.status !== 'passed') problems.push(`it is ${run.status}`);
  if (run.results.length !== of) problems.push(`it has ${run.results.length} results instead of ${of}`);
  if (tests === null) return problems;
  for (const [index, id] of tests.entries()) {
    const result = run.results[index];
    if (result?.test_id !== id) problems.push(`result ${index} is of ${result?.test_id} instead of ${id}`);
    else if (result.repeats.length !== repeat)
      problems.push(`${id} has ${result.repeats.length} repetitions instead of ${repeat}`);
  }
  return problems;
}
