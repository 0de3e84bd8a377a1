/** Whether a turn costs more the more conversations are stored. */
import { setTimeout as pause } from 'node:timers/promises';
import { startHouse, storeFolder, type House } from '../contenders/parley.ts';
import { message, post, type Contender, type Instance } from '../harness/contender.ts';
import { pick, type Measurement, type Question, type Size } from '../harness/question.ts';
import { loadCore, openWindow } from '../harness/window.ts';
import { seedSessions } from '../load/sessions.ts';

const shape = { tokens: 1, rate: 0 };
const abreast = 32;
const turnsEach = 10;
/** Each round uses other sessions, which had no turn yet. */
const conversations: Readonly<Record<Size, number>> = { full: 150, quick: 150, smoke: 4 };
const [stored, cpu, heap] = ['a turn', 'CPU per turn', 'heap'];

interface Seeded extends Instance {
  readonly house: House;
  /** Requests to sessions that were stored before the server was started; the next in turn is given out. */
  readonly requests: string[];
  next: number;
}

/** A server on a store that holds so many sessions already. */
async function startSeeded(count: number, surroundings: Parameters<Contender['start']>[0]): Promise<Instance> {
  const { folder, remove } = await storeFolder();
  const store = `lmdb:${folder}`;
  const before = await startHouse({ store, surroundings });
  const assistantId = await before.assistant(shape);
  await before.server.stop('SIGTERM');
  const sessions = await seedSessions(folder, before.workspace, assistantId, count, 1000);
  const house = await startHouse({ store, surroundings });
  const requests = sessions.map((id) =>
    post(`/sessions/${id}/chat`, { message }, { authorization: `Bearer ${house.key}` }),
  );
  const seeded: Seeded = { ...house, house, requests, next: 0, stop: () => house.stop().then(remove) };
  return seeded;
}

const storing = (name: string, counts: Readonly<Record<Size, number>>): Contender => ({
  name,
  note: `parley on the embedded store with ${counts.full.toLocaleString('en')} sessions in it (${counts.quick.toLocaleString('en')} in quick runs).`,
  standing: 'always',
  start: (surroundings) => startSeeded(counts[surroundings.size], surroundings),
});

const few = storing('few stored', { full: 1000, quick: 1000, smoke: 20 });
const many = storing('many stored', { full: 1_000_000, quick: 100_000, smoke: 200 });

async function measure(measurement: Measurement): Promise<Record<string, number>> {
  const { instance, size, surroundings } = measurement;
  const seeded = instance as Seeded;
  const from = seeded.next;
  seeded.next += conversations[size];
  const requests = Array.from(
    { length: conversations[size] },
    (_, index) => seeded.requests[(from + index) % seeded.requests.length]!,
  );
  const used = openWindow(measurement);
  const { wholeMs } = await surroundings.load.converse(instance, requests, turnsEach, abreast, shape);
  const { loadCore: share } = used();
  await pause(size === 'smoke' ? 0 : 200);
  return {
    [cpu]: used().microseconds / wholeMs.length,
    [loadCore.name]: share,
    [heap]: (await seeded.house.server.heapBytes()) / 1e6,
  };
}

export const sessions: Question = {
  name: 'sessions',
  title: 'Stored sessions',
  method: `CPU time of the server for a turn in a session that has slept in the store, by how many sleep there (1,000 and 1,000,000; in quick runs 100,000), and the collected heap afterwards.`,
  figures: [{ name: cpu, unit: 'µs' }, { name: heap, unit: 'MB' }, loadCore],
  contenders: [few, many],
  yardstick: { contender: few.name, figure: cpu },
  cases: () => [stored],
  goals: [
    {
      text: 'a turn with many sessions stored (a million in full runs) ≤ 1.1 × with 1,000',
      kind: 'ratio',
      of: pick(many.name, stored, cpu),
      against: pick(few.name, stored, cpu),
      most: 1.1,
    },
    {
      text: 'the heap with many sessions stored is that with 1,000, within a tenth',
      kind: 'ratio',
      of: pick(many.name, stored, heap),
      against: pick(few.name, stored, heap),
      most: 1.1,
    },
  ],
  measure,
};
