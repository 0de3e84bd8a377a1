/** Asks questions, one after another, of the contenders that each is about. */
import type { Contender, Instance } from './harness/contender.ts';
import { machineFacts } from './harness/machine.ts';
import { cpuMicroseconds } from './harness/process.ts';
import type { Question, Size } from './harness/question.ts';
import type { Result } from './harness/result.ts';
import { ask, type Answer } from './harness/runner.ts';
import { startUpstream } from './harness/upstream.ts';

export interface Wanted {
  readonly asked: readonly Question[];
  readonly size: Size;
  readonly rounds: number;
  readonly peers: boolean;
  readonly profile: string | null;
}

/** Who is told how far it has come. */
export interface Watcher {
  tell(done: number, all: number, doing: string): void;
  /** A question is over. */
  next(): void;
  end(): void;
}

export async function answer({ asked, size, rounds, peers, profile }: Wanted, watcher: Watcher): Promise<Result> {
  const upstream = await startUpstream();
  const loadMicroseconds = (): number => {
    const { user, system } = process.cpuUsage();
    return user + system + cpuMicroseconds([upstream.process]);
  };
  const surroundings = { upstream: upstream.port, size, profile, loadMicroseconds };
  const shared = size === 'smoke' ? new Map<Contender, Instance>() : null;
  const startedAt = new Date().toISOString();
  const answers: Answer[] = [];
  try {
    for (const question of asked) {
      answers.push(await ask(question, { size, rounds, peers, surroundings, shared, progress: (...told) => watcher.tell(...told) }));
      watcher.next();
    }
  } finally {
    watcher.end();
    for (const instance of shared?.values() ?? []) await instance.stop();
    await upstream.process.stop();
  }
  return { size, rounds, startedAt, machine: machineFacts(), answers };
}
