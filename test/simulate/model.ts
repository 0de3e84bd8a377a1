/** A provider that takes its time, fails, hangs, cuts characters in two, and says nothing twice. */
import type { OpaqueFields } from '../../src/base/opaque-fields.ts';
import type { Model, ModelFailure } from '../../src/providers/model.ts';
import type { Gate } from './clock.ts';
import type { Random } from './random.ts';
import { functionNames, type FunctionName } from './tool.ts';
import type { World } from './world.ts';

type Ending = 'end' | 'hang' | ModelFailure;

interface Plan {
  readonly pieces: readonly string[];
  readonly ending: Ending;
  /** The functions that it calls at its end. */
  readonly calls?: readonly FunctionName[];
  /** Milliseconds before each piece, and before the end. */
  readonly waits: readonly number[];
}

const words = ['one', 'two', 'drei', 'öä', '😀', '👍🏽', 'x', ' ', '\n', 'a longer piece of text'] as const;

export function simulatedModel({ scheduler, history, weather }: World, gate: Gate, host: string): Model {
  return {
    provider: 'simulated',
    needsCredential: false,
    start({ messages, tools, systemPrompt }, sink) {
      const number = history.said.length;
      const plan = weather.modelErrs ? planned(scheduler.random, number, tools !== undefined) : plain(number);
      history.said.push({
        host,
        messages: [...messages],
        text: plan.pieces.join(''),
        systemPrompt,
        functions: tools?.map(({ name }) => name),
      });
      let cancelled = false;
      let given = 0;
      const next = (): void => {
        if (cancelled) return;
        if (given < plan.pieces.length) sink.text(plan.pieces[given]!);
        else if (plan.ending === 'end') {
          for (const [index, name] of (plan.calls ?? []).entries())
            sink.call?.({ name, arguments: '{}' }, signed(number, index));
          return sink.end();
        } else if (plan.ending !== 'hang') return sink.failed(plan.ending);
        given++;
        wait();
      };
      const wait = (): void => {
        if (given < plan.waits.length) scheduler.after(plan.waits[given]!, () => gate.enter(next));
      };
      wait();
      return { cancel: () => void (cancelled = true) };
    },
  };
}

/** The fields that the provider puts on a call: it refuses a history in which the call has others, or none (R4). */
const signed = (number: number, index: number): OpaqueFields => ({
  origin: 'simulated',
  id: 'given',
  call: { signature: `${number}.${index}` },
});

function planned(random: Random, number: number, mayCall: boolean): Plan {
  if (random.chance(0.02)) return flood(random, number);
  const ending: Ending = random.chance(0.78) ? 'end' : random.pick<Ending>(['hang', 'status', 'rate_limit', 'cut']);
  const count = random.chance(0.1) ? 0 : random.between(1, 12);
  const whole = Array.from({ length: count }, (_, index) => `${number}.${index}${random.pick(words)} `);
  const pieces = whole.flatMap((piece) => (random.chance(0.2) ? halves(piece) : [piece]));
  const typicalMs = random.pick([5, 60, 400]);
  const calls =
    mayCall && ending === 'end' && random.chance(0.5)
      ? Array.from({ length: random.between(1, 3) }, () => random.pick(functionNames))
      : [];
  return {
    pieces,
    ending,
    calls,
    waits: Array.from({ length: pieces.length + 1 }, (_, at) => random.delay(at === 0 ? 300 : typicalMs, 8000)),
  };
}

/** The plan of a provider without faults: long enough for turns to be in flight together. */
const plain = (number: number): Plan => ({ pieces: [`${number} well`], ending: 'end', waits: [2000, 0] });

/** Faster than pieces are stored one by one. */
function flood(random: Random, number: number): Plan {
  const pieces = Array.from({ length: 1200 }, (_, index) => `${number}.${index} `);
  return {
    pieces,
    ending: random.pick<Ending>(['end', 'cut', 'hang']),
    waits: Array.from({ length: pieces.length + 1 }, () => (random.chance(0.15) ? 1 : 0)),
  };
}

/** Splits the text in two, within a character that has two halves if there is one. */
function halves(piece: string): string[] {
  const high = [...piece.matchAll(/[\ud800-\udbff]/g)][0];
  const at = high === undefined ? 1 : high.index + 1;
  return [piece.slice(0, at), piece.slice(at)];
}
