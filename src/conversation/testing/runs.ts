/**
 * The runs of tests (contract 21): every process looks for runs that wait, or whose process has died, claims one of an
 * assistant at a time and plays it. A part that is done is stored, and no process plays it again.
 */
import { endedRuns, type RunEvent } from '../../../machines/run.ts';
import { limits } from '../../base/limits.ts';
import { Mailbox } from '../../actors/mailbox.ts';
import { secondsOf, type Timer } from '../../base/clock.ts';
import { withSettings } from '../../store/records/settings.ts';
import { installation } from '../../store/records.ts';
import { ownIdOf, resultKey, testKey } from '../../store/records/tests.ts';
import { resultsOf } from '../../turn/erased-tests.ts';
import { changeRecord } from '../../store/parts/change-record.ts';
import { recordsOf } from '../../store/parts/catalog.ts';
import type { AnsweringAssistant } from '../../host/versions.ts';
import {
  PrerequisiteGone,
  StoreUnavailable,
  type AssistantTest,
  type AuditEntry,
  type ReplayOutcome,
  type TestOutcome,
  type TestQueue,
  type TestResult,
  type TestRun,
} from '../../store/store.ts';
import type { Services } from '../services.ts';
import { playAgain, playRepeat, testOutcome } from './parts.ts';
import type { PlayingRun } from './player.ts';
import { changeQueue, claimable, claimed, dequeue, runLeaseMs } from './queue.ts';
import { removeAgedSessions } from './retention.ts';
import { testsDigest } from './tests.ts';

/** Milliseconds between two looks for runs. */
const lookMs = 3_000;
/** Milliseconds after which a run that was queued and never stored is dropped from its queue. */
const unstoredMs = 10_000;
/** Milliseconds between two looks for sessions of runs that ended a week ago. */
const sweepMs = 3_600_000;
/** Runs that a process plays at a time, and sessions of a run (contract 21). */
const runsAtOnce = 4;
const sessionsAtOnce = 2;

/** The run is not played here any more. */
class Stopped extends Error {}

/** A run that this process plays. */
interface Playing {
  readonly runId: string;
  isStopped: boolean;
  /** Ends the turns in flight. */
  readonly stops: Set<() => void>;
  readonly ended: Promise<void>;
}

function endTurns({ stops }: Playing): void {
  for (const stop of stops) stop();
}

type Usage = TestRun['usage'];

export class TestRuns {
  readonly #services: () => Services;
  readonly #owner: string;
  /** Runs by their assistants. */
  readonly #playing = new Map<string, Playing>();
  #timer: Timer | null = null;
  #look: Promise<void> | null = null;
  /** Whether it has been woken since the look began, which may have passed the queue by then. */
  #isWoken = false;
  #isStopped = false;
  #sweptMs = -Infinity;

  constructor(services: () => Services, owner: string) {
    this.#services = services;
    this.#owner = owner;
  }

  /** Looks for runs now, and from now on regularly until `stop`. */
  wake(): void {
    if (this.#isStopped) return;
    this.#isWoken = this.#look !== null;
    if (this.#isWoken) return;
    const { clock, log } = this.#services();
    this.#timer?.cancel();
    this.#look = this.#claimAll()
      .then(() => this.#sweep())
      .catch((err) => {
        if (!(err instanceof StoreUnavailable)) log.warn({ err }, 'Runs of tests could not be claimed.');
      })
      .then(() => {
        this.#look = null;
        if (this.#isWoken) this.wake();
        else if (!this.#isStopped) this.#timer = clock.after(lookMs, () => this.wake());
      });
  }

  /** Plays no further step, and ends one that takes too long; other processes continue the runs. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await this.#look;
    const all = [...this.#playing.values()];
    for (const playing of all) playing.isStopped = true;
    const late = this.#services().clock.after(limits.drainMs, () => all.forEach(endTurns));
    await Promise.all(all.map(({ ended }) => ended));
    late.cancel();
  }

  /** Cancels a run; resolves with the run after that. `audit`: the row of the change. */
  async cancel(
    run: TestRun,
    audit: (before: TestRun, after: TestRun) => AuditEntry | undefined,
  ): Promise<TestRun | null> {
    const cancelled = await this.#change(run, { type: 'cancel' }, {}, audit);
    this.#halt(run);
    await dequeue(this.#services().store.catalog, run.assistantId, ownIdOf(run));
    this.wake();
    return cancelled;
  }

  /** Ends the turns of a run that is played here. */
  #halt(run: TestRun): void {
    const playing = this.#playing.get(run.assistantId);
    if (playing?.runId !== ownIdOf(run)) return;
    playing.isStopped = true;
    endTurns(playing);
  }

  async #claimAll(): Promise<void> {
    const { catalog } = this.#services().store;
    for await (const queue of recordsOf(catalog, 'test_queue', installation)) {
      if (this.#isStopped || this.#playing.size >= runsAtOnce) return;
      if (!this.#playing.has(queue.id)) await this.#claim(queue);
    }
  }

  async #sweep(): Promise<void> {
    const { clock } = this.#services();
    if (clock.monotonic() - this.#sweptMs < sweepMs) return;
    this.#sweptMs = clock.monotonic();
    await removeAgedSessions(this.#services());
  }

  async #claim(queue: TestQueue): Promise<void> {
    const { store, clock, log } = this.#services();
    const alone = store.leaseMs === null;
    const free = claimable(queue, this.#owner, clock.now(), alone);
    if (free === null) return;
    const stored = await store.catalog.read('test_run', queue.inWorkspaceId, testKey(queue.id, free));
    if (stored === null || endedRuns.includes(stored.record.machine.state)) {
      const atMs = queue.waiting.find(({ runId }) => runId === free)?.atMs ?? 0;
      if (stored === null && clock.now() - atMs < unstoredMs) return;
      const left = await dequeue(store.catalog, queue.id, free);
      if (left !== null) await this.#claim(left);
      return;
    }
    let isMine = false;
    await changeQueue(store.catalog, queue.id, (before) => {
      isMine = claimable(before, this.#owner, clock.now(), alone) === free;
      return isMine ? claimed(before, free, this.#owner, clock.now()) : null;
    });
    if (!isMine || this.#playing.has(queue.id)) return;
    let settle = (): void => {};
    const ended = new Promise<void>((resolve) => (settle = resolve));
    const playing: Playing = { runId: free, isStopped: this.#isStopped, stops: new Set(), ended };
    this.#playing.set(queue.id, playing);
    void this.#play(stored.record, playing)
      .catch((err) => {
        const isExpected = err instanceof Stopped || err instanceof StoreUnavailable || err instanceof PrerequisiteGone;
        if (!isExpected) log.error({ err, run_id: free }, 'A run of tests could not be played.');
      })
      .then(() => this.#release(queue.id, free))
      .finally(() => {
        this.#playing.delete(queue.id);
        settle();
        this.wake();
      });
  }

  /** Ends the lease: a run that has ended leaves the queue, and another one may be continued at once. */
  async #release(assistantId: string, runId: string): Promise<void> {
    const { store, clock } = this.#services();
    try {
      const now = clock.now();
      await changeQueue(store.catalog, assistantId, (before) => {
        const { running } = before;
        if (running?.runId !== runId || running.owner !== this.#owner) return null;
        return { ...before, running: { ...running, untilMs: now } };
      });
    } catch {
      // The lease runs out by itself.
    }
  }

  async #play(stored: TestRun, playing: Playing): Promise<void> {
    const { host, clock, store } = this.#services();
    // A process that died may have stored a result without counting it.
    const results = await resultsOf(store.catalog, stored);
    const done = results.filter(({ outcome }) => outcome !== null).length;
    const startedAt = stored.startedAt ?? secondsOf(clock.now());
    const begun = await this.#change(stored, { type: 'begin' }, { startedAt, done });
    if (begun === null || endedRuns.includes(begun.machine.state)) return;
    const lease = this.#renewing(begun, playing);
    host.runs.entered(begun);
    try {
      const assistant = await host.assistants.of(begun.workspaceId, begun.assistantId);
      if (assistant === null) throw new Stopped();
      const { settings, tools, version } = begun;
      const answering: AnsweringAssistant = {
        ...withSettings(assistant.record, settings),
        version: { number: version ?? 0, tools },
      };
      const player = new RunPlayer(begun, answering, playing, this.#services(), (event, fields) =>
        this.#change(begun, event, fields),
      );
      await player.play();
      const outcomes = (await resultsOf(store.catalog, begun)).flatMap(({ outcome }) => outcome ?? []);
      // A run whose tests or conversations were all removed before has shown nothing.
      const passed = outcomes.length > 0 && outcomes.every(isPassed);
      await this.#change(begun, { type: 'finish', passed }, endOf(begun, outcomes));
    } catch (error) {
      // Another process continues the run.
      if (this.#isStopped) await this.#change(begun, { type: 'leave' });
      throw error;
    } finally {
      lease.cancel();
      host.runs.left(begun);
    }
  }

  /** Renews the lease, and notices a run that is cancelled or that another process has taken. */
  #renewing(run: TestRun, playing: Playing): { cancel(): void } {
    const { store, clock } = this.#services();
    let timer: Timer;
    let renewedMs = clock.monotonic();
    const renew = async (): Promise<void> => {
      try {
        const stored = await store.catalog.read('test_run', run.workspaceId, run.id);
        const queue = await changeQueue(store.catalog, run.assistantId, (before) =>
          before.running?.owner === this.#owner && before.running.runId === playing.runId
            ? claimed(before, playing.runId, this.#owner, clock.now())
            : null,
        );
        const isMine = queue?.running?.owner === this.#owner && queue.running.runId === playing.runId;
        if (!isMine || stored === null || endedRuns.includes(stored.record.machine.state)) this.#halt(run);
        else renewedMs = clock.monotonic();
      } catch {
        if (clock.monotonic() - renewedMs >= runLeaseMs) this.#halt(run);
      }
      if (!playing.isStopped) timer = clock.after(runLeaseMs / 4, () => void renew());
    };
    timer = clock.after(runLeaseMs / 4, () => void renew());
    return { cancel: () => timer.cancel() };
  }

  /** The run after an event of its machine, by compare-and-set; null if it is gone. */
  #change(
    { workspaceId, id }: TestRun,
    event: RunEvent,
    fields: Partial<TestRun> | ((before: TestRun) => Partial<TestRun>) = {},
    audit?: (before: TestRun, after: TestRun) => AuditEntry | undefined,
  ): Promise<TestRun | null> {
    const { store, host, clock } = this.#services();
    const change = (before: TestRun): TestRun | null => {
      const { machine, outcome } = host.runs.sent(before, event);
      if (outcome.type === 'unchanged') return null;
      const endedAt = outcome.type === 'ended' ? secondsOf(clock.now()) : before.endedAt;
      return { ...before, ...(typeof fields === 'function' ? fields(before) : fields), machine, endedAt };
    };
    return changeRecord(store.catalog, 'test_run', workspaceId, id, change, audit);
  }
}

const isPassed = (outcome: TestOutcome | ReplayOutcome): boolean =>
  outcome.kind === 'test' ? outcome.verdict === 'passed' : outcome.failed === undefined;

/** The fields that the end of a run adds. */
function endOf({ plan }: TestRun, outcomes: readonly (TestOutcome | ReplayOutcome)[]): Partial<TestRun> {
  if (plan.kind === 'tests') {
    const played = outcomes.flatMap((one) =>
      one.kind === 'test' ? [{ testId: one.testId, digest: one.testDigest }] : [],
    );
    return { testsDigest: plan.all ? testsDigest(played) : null };
  }
  const replays = outcomes.filter((one) => one.kind === 'replay');
  return {
    counts: {
      callsDifferent: replays.filter(({ calls }) => calls === 'different').length,
      endedDifferent: replays.filter(({ ended }) => ended === 'different').length,
    },
  };
}

/** Plays the parts of one run, two sessions at a time. */
class RunPlayer {
  readonly #run: TestRun;
  readonly #assistant: AnsweringAssistant;
  readonly #playing: Playing;
  readonly #services: Services;
  readonly #change: (event: RunEvent, fields: (before: TestRun) => Partial<TestRun>) => Promise<TestRun | null>;
  /** Results are stored one after the other. */
  readonly #storing = new Mailbox();
  #used: Usage = { inputTokens: 0, outputTokens: 0 };

  constructor(
    run: TestRun,
    assistant: AnsweringAssistant,
    playing: Playing,
    services: Services,
    change: (event: RunEvent, fields: (before: TestRun) => Partial<TestRun>) => Promise<TestRun | null>,
  ) {
    this.#run = run;
    this.#assistant = assistant;
    this.#playing = playing;
    this.#services = services;
    this.#change = change;
  }

  #check(): void {
    if (this.#playing.isStopped) throw new Stopped();
  }

  #count({ inputTokens, outputTokens }: Usage): void {
    this.#used = {
      inputTokens: this.#used.inputTokens + inputTokens,
      outputTokens: this.#used.outputTokens + outputTokens,
    };
  }

  #hold(stop: () => void): () => void {
    this.#playing.stops.add(stop);
    return () => void this.#playing.stops.delete(stop);
  }

  /** Plays what is not done yet. Throws `Stopped` if the run is not played here any more. */
  async play(): Promise<void> {
    const results = await resultsOf(this.#services.store.catalog, this.#run);
    const done = new Set(results.filter(({ outcome }) => outcome !== null).map(({ id }) => id));
    const works = this.#allWorks(done);
    const worker = async (): Promise<void> => {
      for (let work = works.next(); !work.done; work = works.next()) {
        this.#check();
        await work.value();
      }
    };
    const halting = async (): Promise<void> => {
      try {
        await worker();
      } catch (error) {
        // The other session ends with its next step.
        this.#playing.isStopped = true;
        throw error;
      }
    };
    const ended = await Promise.allSettled(Array.from({ length: sessionsAtOnce }, halting));
    const failed = ended.find((one) => one.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  *#allWorks(done: ReadonlySet<string>): Generator<() => Promise<void>> {
    const { plan } = this.#run;
    const ids = plan.kind === 'tests' ? plan.testIds : plan.sessionIds;
    for (const [place, each] of ids.entries())
      if (!done.has(resultKey(this.#run, place))) yield* this.#works(place, each);
  }

  /** The sessions of a part, one after the other; the last one that ends stores its result. */
  *#works(place: number, id: string): Generator<() => Promise<void>> {
    const { plan } = this.#run;
    if (plan.kind === 'replay') {
      yield () => this.#replay(place, id);
      return;
    }
    const { catalog } = this.#services.store;
    const reading = catalog.read('assistant_test', this.#run.workspaceId, testKey(this.#run.assistantId, id));
    reading.catch(() => {});
    const repeats: TestOutcome['repeats'][number][] = [];
    let test: AssistantTest | null = null;
    yield async () => {
      test = (await reading)?.record ?? null;
      if (test !== null) repeats.push(await this.#repeat(place, test));
      if (test === null || repeats.length === this.#repeatsOf(test))
        await this.#done(place, test && testOutcome(test, repeats, this.#run.of));
    };
    // The number of repetitions is bounded: those beyond the test's own number have nothing to do.
    for (let index = 1; index < (plan.repeat ?? 10); index++)
      yield async () => {
        test ??= (await reading)?.record ?? null;
        if (test === null || index >= this.#repeatsOf(test)) return;
        repeats.push(await this.#repeat(place, test));
        if (repeats.length === this.#repeatsOf(test)) await this.#done(place, testOutcome(test, repeats, this.#run.of));
      };
  }

  #repeatsOf({ repeat }: AssistantTest): number {
    const { plan } = this.#run;
    return plan.kind === 'tests' ? (plan.repeat ?? repeat) : 1;
  }

  #repeat(place: number, test: AssistantTest): Promise<TestOutcome['repeats'][number]> {
    return playRepeat(test, this.#assistant, this.#part(place), this.#services);
  }

  async #replay(place: number, sessionId: string): Promise<void> {
    const session = await this.#services.host.sessions.read(this.#run.workspaceId, sessionId);
    const outcome =
      session && (await playAgain(session, this.#assistant, this.#run.of, this.#part(place), this.#services));
    await this.#done(place, outcome);
  }

  /** The run as a part of it is played: its sessions are stored with it before their first turn. */
  #part(place: number): PlayingRun {
    return {
      key: this.#run.id,
      check: () => this.#check(),
      used: (usage) => this.#count(usage),
      holds: (stop) => this.#hold(stop),
      opened: (sessionId) =>
        this.#store(place, (before) => ({ ...before, sessionIds: [...before.sessionIds, sessionId] })),
    };
  }

  /**
   * Stores the result of a part, and the progress of the run, unless another process has done that. `outcome`: null for
   * what is gone.
   */
  async #done(place: number, outcome: TestOutcome | ReplayOutcome | null): Promise<void> {
    let isFirst = true;
    if (outcome !== null)
      await this.#store(place, (before) => {
        isFirst = before.outcome === null;
        return isFirst ? { ...before, outcome } : before;
      });
    if (!isFirst) return;
    const used = this.#used;
    this.#used = { inputTokens: 0, outputTokens: 0 };
    const run = await this.#change({ type: 'advance' }, ({ done, usage }) => ({
      done: done + 1,
      usage: {
        inputTokens: usage.inputTokens + used.inputTokens,
        outputTokens: usage.outputTokens + used.outputTokens,
      },
    }));
    if (run === null || endedRuns.includes(run.machine.state)) throw new Stopped();
  }

  #store(place: number, change: (before: TestResult) => TestResult): Promise<void> {
    const { catalog } = this.#services.store;
    const { workspaceId, assistantId } = this.#run;
    const key = resultKey(this.#run, place);
    return this.#storing.post(async () => {
      if ((await changeRecord(catalog, 'test_result', workspaceId, key, change)) !== null) return;
      const blank = { id: key, workspaceId, assistantId, sessionIds: [], outcome: null };
      await catalog.create('test_result', change(blank));
    });
  }
}
