/** The stores of a run, over the embedded store in memory: steps by name, so that wrappers can treat all alike. */
import { storeOf, takeStep, type StepName } from '../../src/store/steps.ts';
import type { Store } from '../../src/store/store.ts';
import type { History } from './history.ts';

/** Takes a step of the store by its name. */
export type Perform = (verb: StepName, args: readonly any[]) => any;

/** Steps that change something, are decided on or show a reply: the others leave no trace in the history. */
const kept: ReadonlySet<StepName> = new Set<StepName>([
  ...([
    'createSession',
    'saveSession',
    'beginTurn',
    'appendOutput',
    'releaseOutput',
    'stepTurn',
    'renewTurn',
    'requestStop',
    'finishTurn',
    'withdrawTurn',
    'claimTurn',
    'takeOverTurn',
    'attendSession',
  ] as const),
  ...(['takeBudgets', 'catalog.create', 'catalog.replace'] as const),
  // The answers that show a reply to readers.
  ...(['outputAfter', 'messages'] as const),
]);

export const performOn =
  (store: Store): Perform =>
  (verb, args) =>
    takeStep(store, verb, args);

/** A store whose every step goes one way. `watch`, `open` and `close` go their own. */
export function simulatedStore(
  { leaseMs, ...own }: Pick<Store, 'leaseMs' | 'watch' | 'open' | 'close'>,
  perform: Perform,
): Store {
  return storeOf({ name: 'simulated', leaseMs }, (step) => {
    if (step === 'watch' || step === 'open' || step === 'close') return own[step];
    return (...args) => perform(step, args);
  });
}

/** Records the store's answers, with the time. */
export function recorded(history: History, host: string, perform: Perform, nowMs: () => number): Perform {
  return (verb, args) => {
    const answer = perform(verb, args);
    if (!kept.has(verb)) return answer;
    const keep = (told: unknown) => history.step(host, verb, args, told, nowMs());
    if (answer instanceof Promise)
      answer.then(keep, (error: Error) => history.note(`${host} ${verb} failed: ${error.message}`));
    else keep(answer);
    return answer;
  };
}
