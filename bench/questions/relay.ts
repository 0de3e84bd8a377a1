/** The cost of relaying one event, in calm and under load. */
import { parley, parleyRedis } from '../contenders/parley.ts';
import { floor, nginx, plain } from '../contenders/simple.ts';
import { peers } from '../contenders/peers.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { pick, type Goal, type Measurement, type Question, type Size } from '../harness/question.ts';
import { loadCore, openWindow } from '../harness/window.ts';

/** Events a second of one stream. */
const rate = 100;
/** Streams by the name of their case. */
const streams: Readonly<Record<string, number>> = {
  '1,600 events/s': 16,
  '25,600 events/s': 256,
  '51,200 events/s': 512,
  '102,400 events/s': 1024,
};
const [calm, loaded, full, stretch] = Object.keys(streams) as [string, string, string, string];

/**
 * Milliseconds from the beginning of the last stream to the measurement, its length, and the time that streams continue
 * after it, since some begin before the last.
 */
const times: Readonly<Record<Size, { settle: number; window: number; after: number }>> = {
  full: { settle: 700, window: 4000, after: 1000 },
  quick: { settle: 400, window: 2000, after: 1000 },
  smoke: { settle: 20, window: 100, after: 20 },
};

/** Number of streams at a smoke size. */
const smokeStreams = 4;

const [cpu, use, late] = ['CPU per event', 'core in use', 'late p50'];

async function measure(measurement: Measurement): Promise<Record<string, number>> {
  const { instance, case: name, size, surroundings } = measurement;
  const { settle, window, after } = times[size];
  const count = size === 'smoke' ? smokeStreams : streams[name]!;
  const shape = { rate, tokens: Math.ceil(((settle + window + after) / 1000) * rate) };
  const requests = await instance.conversations(shape, count);
  const under = surroundings.load.stream(instance, requests, shape);
  await under.begun();
  await pause(settle);
  const first = await under.mark();
  const used = openWindow(measurement);
  await pause(window);
  const { seconds, microseconds, loadCore: share } = used();
  const last = await under.mark();
  const tokens = last.tokens - first.tokens;
  const figures = {
    [cpu]: microseconds / tokens,
    'events delivered': tokens / seconds,
    'events a frame': tokens / (last.deltas - first.deltas),
    [use]: (microseconds / (seconds * 1e6)) * 100,
    [loadCore.name]: share,
    [late]: last.lateP50,
    'late p99': last.lateP99,
  };
  await under.done;
  return figures;
}

const obstacle =
  'The core is full, and so is the one of the load and the provider, which send and check as many: another machine would have to ask.';

const shortWait =
  'The two goals at this rate pull against each other: what waits less is joined less. Below half a core a piece waits 5 ms at most, above it longer (docs/decisions/0131-the-wait-for-a-beat-follows-the-load.md).';

const against = (contender: string, name: string, most: number, more: Partial<Goal> = {}): Goal => ({
  text: `${contender} at ${name} ≤ ${most.toFixed(2)} F`,
  kind: 'ratio',
  of: pick(contender, name, cpu),
  against: pick(floor.name, name, cpu),
  most,
  ...more,
});

export const relay: Question = {
  name: 'relay',
  title: 'Relaying an event',
  method: `Streams of ${rate} events a second each; CPU time of the server over a window in which all of them run, for each event of the provider delivered. "Late" is the time between two events of a stream beyond the provider's own; where the load's core is full as well, it is the load that is late.`,
  figures: [
    { name: cpu, unit: 'µs' },
    { name: 'events delivered', unit: '/s' },
    { name: 'events a frame', unit: '' },
    { name: use, unit: '%' },
    loadCore,
    { name: late, unit: 'ms' },
    { name: 'late p99', unit: 'ms' },
  ],
  contenders: [floor, parley, parleyRedis, nginx, plain, ...peers],
  yardstick: { contender: floor.name, figure: cpu },
  cases: (size) => (size === 'full' ? [calm, loaded, full, stretch] : size === 'quick' ? [loaded, full] : [calm]),
  // Other contenders reach their limit sooner, and would only measure their own queue.
  takes: ({ standing, name }, events) =>
    standing === 'peer' ? events === calm : events === stretch ? name === floor.name || name === parley.name : true,
  goals: [
    against('parley', loaded, 1.05, {
      obstacle: shortWait,
      headline: 'CPU time of relaying an event, 25,600 events a second, beside F',
    }),
    against('parley', full, 0.9, {
      headline: 'The same, 51,200 events a second',
      inWords: ['Relaying an event at 51,200 events a second takes', 'the CPU time that F takes for it'],
    }),
    against('parley', full, 0.85, { stretch: true }),
    against('parley, Redis', loaded, 1.3, { obstacle: shortWait }),
    against('parley, Redis', full, 1.3),
    {
      text: `late p50 at ${loaded} ≤ 5 ms while less than half of a core is in use`,
      kind: 'value',
      of: pick('parley', loaded, late),
      most: 5,
      when: { figure: use, below: 50 },
      obstacle: shortWait,
    },
    {
      text: 'one core relays 51,200 events/s',
      headline: 'Events that one core relays',
      kind: 'value',
      of: pick('parley', full, 'events delivered'),
      least: 0.99 * 51_200,
    },
    {
      text: 'one core relays 100,000 events/s',
      kind: 'value',
      of: pick('parley', stretch, 'events delivered'),
      least: 100_000,
      stretch: true,
      obstacle,
    },
    {
      text: 'at most 30 ms added between tokens at 100,000 events/s',
      kind: 'value',
      of: pick('parley', stretch, 'late p99'),
      most: 30,
      stretch: true,
    },
  ],
  measure,
};
