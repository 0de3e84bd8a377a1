/**
 * The cost for a program of reading a reply: the client, beside a parser on `fetch` and beside another service's
 * client.
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { startEventServer } from '../event-server.ts';
import { built } from '../harness/built.ts';
import type { Contender, Instance } from '../harness/contender.ts';
import { Process } from '../harness/process.ts';
import { pick, type Measurement, type Question, type Size } from '../harness/question.ts';
import { parleyFormat } from '../load/stream.ts';
import type { Client, Reading } from '../reader.ts';
import { tokenAt } from '../text.ts';

const reading = '20 streams';
const cpu = 'CPU per 1,000 events';
const streams: Readonly<Record<Size, number>> = { full: 20, quick: 20, smoke: 2 };
const events: Readonly<Record<Size, number>> = { full: 600, quick: 300, smoke: 5 };

const clientPath = fileURLToPath(new URL('../../dist/client/index.js', import.meta.url));
const openaiPath = fileURLToPath(new URL('../peers/node_modules/openai/index.mjs', import.meta.url));

const reader = (name: string, client: Client, path: string, more: Pick<Contender, 'note' | 'standing'>): Contender => ({
  name,
  ...more,
  absent: () =>
    path === '' || existsSync(path)
      ? null
      : client === 'openai'
        ? 'bench/peers is not installed'
        : 'dist/client is not built',
  async start(): Promise<Instance> {
    const server = await startEventServer();
    const program = await built(new URL('../reader.ts', import.meta.url));
    const process_ = new Process({
      place: 'server',
      program: process.execPath,
      args: [program, client, String(server.port), path],
      node: true,
    });
    await process_.told<{ ready: true }>();
    const stop = async (): Promise<void> => {
      await process_.stop();
      await server.stop();
    };
    return { processes: [process_], ports: [server.port], format: parleyFormat, conversations: async () => [], stop };
  },
});

const plain = reader('fetch + eventsource-parser', 'fetch', '', {
  standing: 'always',
  note: 'No retries, no resumption, no silence that ends: the least that reads events.',
});
const own = reader('parley-client', 'parley-client', clientPath, { standing: 'always', note: 'As it is built.' });
const openai = reader('openai', 'openai', openaiPath, {
  standing: 'peer',
  note: 'Reads the longer events of its own API.',
});

async function measure({ instance, size }: Measurement): Promise<Record<string, number>> {
  const [process_] = instance.processes as [Process];
  const told = process_.told<Reading>();
  process_.child.send({ streams: streams[size], events: events[size] });
  const { microseconds, characters } = await told;
  const expected =
    streams[size] *
    Array.from({ length: events[size] }, (_, index) => tokenAt(index).length).reduce((sum, length) => sum + length, 0);
  if (characters !== expected) throw new Error(`${characters} characters were read of ${expected}.`);
  return { [cpu]: microseconds / 1000 / ((streams[size] * events[size]) / 1000) };
}

export const client: Question = {
  name: 'client',
  title: 'Reading a reply',
  method:
    'A Node process reads streams of 200 events a second each, every event a chunk of its own; its CPU time for 1,000 events, from the request to the end.',
  figures: [{ name: cpu, unit: 'ms' }],
  contenders: [plain, own, openai],
  yardstick: { contender: plain.name, figure: cpu },
  cases: () => [reading],
  warmUps: 6,
  goals: [
    {
      text: 'parley-client ≤ 1.25 × fetch + eventsource-parser',
      kind: 'ratio',
      of: pick(own.name, reading, cpu),
      against: pick(plain.name, reading, cpu),
      most: 1.25,
    },
  ],
  measure,
};
