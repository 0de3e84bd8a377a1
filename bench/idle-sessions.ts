/**
 * The cost of idle sessions: opens N sessions on the embedded store, as the API does, and leaves them.
 * Prints the heap after every tenth of them, and once more when those that were used have gone back to sleep.
 * `node --import=tsx --expose-gc bench/idle-sessions.ts 1000000`
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WheelClock } from '../src/base/clock.ts';
import { wholeNumber } from '../src/cli/arguments.ts';
import { Host } from '../src/host.ts';
import { randomIds } from '../src/base/ids.ts';
import { limits } from '../src/base/limits.ts';
import { openLog } from '../src/base/log.ts';
import { lmdbStore } from '../src/store/lmdb.ts';
import { developmentCommand } from './harness/development-command.ts';

/** Sessions that are opened at once, as so many clients would. */
const abreast = 200;

export interface HeapAt {
  readonly sessions: number;
  /** Session actors that are awake: those used within the last minute. */
  readonly awake: number;
  readonly heapBytes: number;
}

/** Opens `count` sessions and reports the heap, collected, at every tenth. */
export async function idleSessions(count: number, report: (at: HeapAt) => void): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-idle-'));
  const clock = new WheelClock();
  const ids = randomIds(clock);
  const store = lmdbStore(folder);
  await store.open(clock.now());
  const host = new Host(store, clock, ids, openLog('silent', clock), limits.turnMsMax);
  const reportHeap = (sessions: number): void => {
    globalThis.gc?.();
    report({ sessions, awake: host.sessions.population.size, heapBytes: process.memoryUsage().heapUsed });
  };
  try {
    const workspaceId = ids.make('wks');
    const assistantId = ids.make('asst');
    const wanted = {
      workspaceId,
      assistantId,
      channel: 'api',
      visitor: {},
      metadata: {},
      maxCallSeconds: 3600,
      greeting: 'Hello',
      remember: null,
    } as const;
    for (let made = 0; made < count; made += abreast) {
      const opened = await Promise.all(Array.from({ length: abreast }, () => host.sessions.create(wanted)));
      // One of them is used, so that actors wake and leave as well.
      const actor = await host.sessions.of(workspaceId, opened[0]!.session.id);
      await host.sessions.end(actor!);
      if ((made + abreast) % (count / 10) < abreast) {
        reportHeap(made + abreast);
      }
    }
    host.sessions.population.clear();
    reportHeap(count);
  } finally {
    host.close();
    await store.close();
    clock.stop();
    await rm(folder, { recursive: true });
  }
}

if (import.meta.filename === process.argv[1]) {
  const command = developmentCommand(
    'node --import=tsx --expose-gc bench/idle-sessions.ts',
    'Opens sessions on an embedded store of its own, leaves them, and tells what they cost. Without --expose-gc the heap is told as it is, garbage included.',
    'node --import=tsx --expose-gc bench/idle-sessions.ts 100000',
  );
  const count: number = command.argument('[sessions]', 'how many', wholeNumber(1, 999_999_999), 1_000_000).parse()
    .processedArgs[0];
  await idleSessions(count, ({ sessions, awake, heapBytes }) => {
    process.stdout.write(
      `${String(sessions).padStart(9)} sessions, ${String(awake).padStart(5)} awake  ${(heapBytes / 1e6).toFixed(1)} MB of heap\n`,
    );
  });
}
