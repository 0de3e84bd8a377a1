/** Asks questions, one after another, of the contenders that each is about. */
import type { Contender, Instance } from './harness/contender.ts';
import { machineFacts } from './harness/machine.ts';
import type { Question, Size } from './harness/question.ts';
import type { Result } from './harness/result.ts';
import { ask, type Answer } from './harness/runner.ts';
import { startRuler, type RulerName } from './harness/ruler.ts';

export interface Wanted {
  readonly asked: readonly Question[];
  readonly size: Size;
  readonly rounds: number;
  readonly peers: boolean;
  readonly profile: string | null;
  /** Null for the more precise one available. */
  readonly ruler: RulerName | null;
}

/** Receives a run's progress. */
export interface Watcher {
  tell(done: number, all: number, doing: string): void;
  /** Ends a question. */
  next(): void;
  end(): void;
}

export async function answer(
  { asked, size, rounds, peers, profile, ruler: wanted }: Wanted,
  watcher: Watcher,
): Promise<Result> {
  const ruler = await startRuler(wanted);
  const surroundings = { upstream: ruler.port, size, profile, load: ruler.load, loadMicroseconds: ruler.microseconds };
  const shared = size === 'smoke' ? new Map<Contender['start'], Instance>() : null;
  const startedAt = new Date().toISOString();
  const answers: Answer[] = [];
  try {
    for (const [place, question] of asked.entries()) {
      answers.push(
        await ask(question, {
          size,
          rounds,
          peers,
          surroundings,
          shared,
          progress: (...told) => watcher.tell(...told),
        }),
      );
      const later = new Set(asked.slice(place + 1).flatMap(({ contenders }) => contenders.map(({ start }) => start)));
      for (const [start, instance] of shared ?? []) {
        if (later.has(start)) continue;
        shared!.delete(start);
        await instance.stop();
      }
      watcher.next();
    }
  } finally {
    watcher.end();
    for (const instance of shared?.values() ?? []) await instance.stop();
    await ruler.stop();
  }
  return { size, rounds, ruler: ruler.name, startedAt, machine: machineFacts(), answers };
}
