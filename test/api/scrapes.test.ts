/** One scrape of all workers, however many ask at once. */
import t from 'tap';
import { openMetrics, type Samples } from '../../src/metrics/metrics.ts';
import { Scrapes } from '../../src/operations/supervisor/scrapes.ts';
import type { SupervisedWorker } from '../../src/operations/supervisor/member.ts';
import type { FromSupervisor } from '../../src/operations/supervisor/messages.ts';
import { ManualClock } from '../providers/model/provider.ts';

/** A worker that listens, and the messages sent to it. */
class Worker {
  readonly told: FromSupervisor[] = [];
  readonly listened = true;
  readonly worker: { readonly id: number };

  constructor(id: number) {
    this.worker = { id };
  }

  send(message: FromSupervisor): void {
    this.told.push(message);
  }
}

async function samples(): Promise<Samples> {
  const metrics = openMetrics(
    () => ({}),
    () => 1,
    () => 0,
    () => ({ count: 0, seconds: 0 }),
  );
  return metrics.samples();
}

t.test('requests during a scrape share it', async (t) => {
  const workers = [1, 2, 3, 4].map((id) => new Worker(id));
  const members = workers as unknown as SupervisedWorker[];
  const scrapes = new Scrapes(new ManualClock(), new Set(members));
  const texts = Array.from({ length: 100 }, () => scrapes.text());
  const measured = await samples();
  await new Promise(setImmediate);
  for (const [index, { told }] of workers.entries()) {
    t.match(told, [{ type: 'measure' }], 'each is asked');
    t.equal(told.length, 1, 'once');
    for (const message of told)
      if (message.type === 'measure') scrapes.receive(members[index]!, message.request, measured);
  }
  const all = new Set(await Promise.all(texts));
  t.equal(all.size, 1);
  t.match([...all][0], /\nparley_turns_in_flight 4\n/);
});
