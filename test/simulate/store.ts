/** The stores of a run, over the embedded store in memory: steps by name, so that what stands before them can treat all alike. */
import type { Store } from '../../src/store.ts';
import type { History } from './history.ts';

/** Takes a step of the store by its name; those of the catalog begin with `catalog.`. */
export type Perform = (verb: string, args: readonly any[]) => any;

/** Steps that change something, or are decided on: the others leave no trace in the history. */
const kept = new Set(
  ['createSession', 'saveSession', 'beginTurn', 'appendOutput', 'renewTurn', 'requestStop', 'finishTurn', 'withdrawTurn', 'claimTurn', 'takeOverTurn', 'takeBudgets'].concat(
    'catalog.create',
    'catalog.replace',
  ),
);

export const performOn =
  (store: Store): Perform =>
  (verb, args) => {
    const [target, name] = verb.startsWith('catalog.') ? [store.catalog, verb.slice('catalog.'.length)] : [store, verb];
    return (target as any)[name](...args);
  };

/** A store whose every step goes one way. */
export function storeOf(parts: Pick<Store, 'leaseMs' | 'watch' | 'open' | 'close'>, perform: Perform): Store {
  const steps = (known: object, prefix: string): object =>
    new Proxy(known, {
      get(target, name) {
        // Whoever waits for a store asks it whether it is a promise.
        if (name in target || typeof name === 'symbol' || name === 'then') return Reflect.get(target, name);
        return (...args: unknown[]) => perform(prefix + name, args);
      },
    });
  return steps({ name: 'simulated', ...parts, catalog: steps({}, 'catalog.') }, '') as Store;
}

/** Writes down what the store answered, when it did. */
export function recorded(history: History, host: string, perform: Perform, nowMs: () => number): Perform {
  return (verb, args) => {
    const answer = perform(verb, args);
    if (!kept.has(verb)) return answer;
    const keep = (told: unknown) => history.step(host, verb, args, told, nowMs());
    if (answer instanceof Promise) answer.then(keep, (error: Error) => history.note(`${host} ${verb} failed: ${error.message}`));
    else keep(answer);
    return answer;
  };
}
