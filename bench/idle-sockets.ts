/**
 * Memory that closed transcription sockets leave behind: opens N of them on a built server, one after another on so
 * many lanes, and closes each in one of the ways in which clients go. Prints the server's memory after every tenth, and
 * once more when the server has forgotten their tokens, which it remembers for as long as they could be replayed. `node
 * --import=tsx bench/idle-sockets.ts 100000`
 */
import { tmpdir } from 'node:os';
import { wholeNumber } from '../src/cli/arguments.ts';
import { build } from './contenders/parley.ts';
import { parleyVoice, type VoiceHouse } from './contenders/voice.ts';
import { developmentCommand } from './harness/development-command.ts';
import { endOnSignal, residentBytes } from './harness/process.ts';
import { nodeLoad } from './load/node.ts';
import type { Talking } from './load/talking.ts';

/** Sockets that are open at once. */
const abreast = 20;
/** A token and the slack of the clocks (`src/host/sockets.ts`), and a minute. */
const forgottenMs = 7 * 60_000;

export interface MemoryAt {
  readonly sockets: number;
  /** Sockets that the server still holds, by its own count. */
  readonly held: number;
  readonly heapBytes: number;
  /** The sum over the server and its voice processes. */
  readonly residentBytes: number;
}

/** Silent, spoken to, finished or left in the middle: the socket's buffers differ by then. */
const ways: readonly ((socket: Talking, clip: Buffer) => void)[] = [
  (talking) => talking.socket.close(1000),
  (talking) => talking.close(),
  (talking) => talking.socket.send('{"type":"finish"}'),
  (talking) => talking.socket.send('no message'),
  (talking) => {
    talking.socket.send(Buffer.alloc(640));
    talking.socket.send('{"type":"finish"}');
  },
  (talking, clip) => {
    talking.socket.send(clip.subarray(0, 16_000));
    talking.close();
  },
];

async function lane(voice: VoiceHouse, next: () => number | null): Promise<void> {
  for (let number = next(); number !== null; number = next()) {
    const talking = await voice.talk(['', '&encoding=pcm_mulaw&sample_rate=8000', '&encoding=opus'][number % 3]);
    // The last of the ways asks for detection, which is work; it is taken more rarely than the others.
    const way = number % 20 === 0 ? ways.length - 1 : number % (ways.length - 1);
    ways[way]!(talking, voice.clips[0]!.audio);
    await talking.closed;
  }
}

async function memoryAt({ house }: VoiceHouse, sockets: number): Promise<MemoryAt> {
  const metrics = await fetch(`${house.url}/metrics`).then((response) => response.text());
  const held = Number(/^parley_actors\{kind="socket"\} (\d+)/m.exec(metrics)?.[1] ?? NaN);
  return { sockets, held, heapBytes: await house.server.heapBytes(), residentBytes: residentBytes([house.server]) };
}

/** Opens and closes `count` sockets and reports at every tenth. `waitMs`: before the last report. */
export async function idleSockets(count: number, waitMs: number, report: (at: MemoryAt) => void): Promise<void> {
  build();
  const voice = (await parleyVoice.start({
    upstream: 9,
    size: 'full',
    profile: null,
    load: nodeLoad,
    loadMicroseconds: () => 0,
  })) as VoiceHouse;
  try {
    let begun = 0;
    for (let tenth = 1; tenth <= 10; tenth++) {
      const until = Math.round((count * tenth) / 10);
      await Promise.all(Array.from({ length: abreast }, () => lane(voice, () => (begun < until ? begun++ : null))));
      report(await memoryAt(voice, until));
    }
    if (waitMs === 0) return;
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    // The next socket clears tokens that are past their time.
    await lane(voice, () => (begun++ < count + abreast ? begun : null));
    report(await memoryAt(voice, begun));
  } finally {
    await voice.stop();
  }
}

if (import.meta.filename === process.argv[1]) {
  const command = developmentCommand(
    'node --import=tsx bench/idle-sockets.ts',
    'Opens and closes transcription sockets on a server of its own, and tells what memory they leave behind.',
    'node --import=tsx bench/idle-sockets.ts 10000',
  );
  const count: number = command.argument('[sockets]', 'how many', wholeNumber(10, 999_999_999), 100_000).parse()
    .processedArgs[0];
  process.chdir(tmpdir());
  endOnSignal();
  const startedAt = performance.now();
  await idleSockets(count, forgottenMs, ({ sockets, held, heapBytes, residentBytes }) => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    process.stdout.write(
      `${String(seconds).padStart(5)} s ${String(sockets).padStart(9)} sockets, ${held} held  ${(heapBytes / 1e6).toFixed(1)} MB of heap, ${(residentBytes / 1e6).toFixed(0)} MB resident\n`,
    );
  });
}
