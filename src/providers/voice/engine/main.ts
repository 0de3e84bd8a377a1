/**
 * A voice process: it speaks and listens on its parent's orders, apart from the server, so that no turn waits for it
 * and no fault of a native library ends the server. It ends with its parent.
 */
import { setPriority } from 'node:os';
import { openFlite } from './flite.ts';
import type { Order, Report, StreamPart } from './messages.ts';
import { Recogniser } from './moonshine.ts';
import { Detector } from './silero.ts';

/** A value that is loaded once, when it is first wanted; a load that fails is tried again. */
class Coming<T> {
  readonly #load: () => Promise<T>;
  #value: Promise<T> | null = null;

  constructor(load: () => Promise<T>) {
    this.#load = load;
  }

  get(): Promise<T> {
    if (this.#value === null) {
      const loading = (this.#value = this.#load());
      loading.catch(() => {
        if (this.#value === loading) this.#value = null;
      });
    }
    return this.#value;
  }
}

/** Text turns come first on a busy machine. */
const niceness = 5;

try {
  setPriority(niceness);
} catch {
  // A system that does not permit the lower priority runs the process at the normal one.
}

const flite = new Coming(openFlite);
const detector = new Coming(() => Detector.open());
const recognisers = new Map<string | null, Coming<Recogniser>>();

function recogniser(folder: string | null): Promise<Recogniser> {
  let loading = recognisers.get(folder);
  if (loading === undefined) recognisers.set(folder, (loading = new Coming(() => Recogniser.open(folder))));
  return loading.get();
}

/** Detects voice in the audio of one stream in order, between the tokens of a decoding. */
let detecting: Promise<unknown> = Promise.resolve();

async function chancesOf({ stream, samples }: StreamPart): Promise<Float32Array | string> {
  try {
    return await (await detector.get()).chances(stream, samples);
  } catch (error) {
    return reasonOf(error);
  }
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Decodings that are to end. */
const dropped = new Set<number>();

async function obey(order: Exclude<Order, { do: 'forget' | 'drop' }>): Promise<Report> {
  const { id } = order;
  if (order.do === 'speak') return { id, ...(await flite.get())(order.text, order.voice, order.speed, order.timed) };
  if (order.do === 'warm') {
    await Promise.all([detector.get(), order.recogniser && recogniser(null)]);
    return { id, warm: true };
  }
  if (order.do === 'detect') {
    const detection = detecting.then(async () => {
      const detected: (Float32Array | string)[] = [];
      for (const part of order.parts) detected.push(await chancesOf(part));
      return detected;
    });
    detecting = detection;
    return { id, detected: await detection };
  }
  const engine = await recogniser(order.folder);
  const before = process.cpuUsage();
  const decoded = await engine.decode(order.samples, order.guess, () => dropped.has(id));
  dropped.delete(id);
  const { user, system } = process.cpuUsage(before);
  return { id, ...decoded, cpuMs: (user + system) / 1000 };
}

process.on('message', (order: Order) => {
  if (order.do === 'drop') return void dropped.add(order.id);
  if (order.do === 'forget')
    return void detecting.then(async () => (await detector.get()).forget(order.stream)).catch(() => {});
  obey(order).then(
    (report) => process.send!(report),
    (error: unknown) => process.send!({ id: order.id, failed: reasonOf(error) }),
  );
});
process.on('disconnect', () => process.exit(0));
// Ctrl-C reaches the whole group of a terminal; the server ends its voice processes itself, once its sockets are
// closed.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
