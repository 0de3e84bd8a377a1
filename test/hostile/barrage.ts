/**
 * Sends hostile requests many at a time and holds every outcome to the judge, and the server to its health after each
 * lot.
 */
import fc from 'fast-check';
import { RawClient } from '../http/edge/harness.ts';
import type { Pieces } from './changes.ts';
import { Judge } from './judge.ts';
import { hostileRequests } from './requests.ts';
import type { World } from './world.ts';

export interface Runs {
  readonly seed: number;
  /** Minimum number of requests. */
  readonly times: number;
  /** Told how many have been sent so far. */
  readonly onProgress?: (sent: number) => void;
}

/** Requests that are under way together; a failure shrinks to the fewest that still fail. */
const together = 32;

/** Throws with the seed and the smallest lot of requests that was answered wrongly. */
export async function barrage(world: World, { seed, times, onProgress }: Runs): Promise<void> {
  const judge = await Judge.open(world.edge, world.house);
  let sent = 0;
  const lot = fc.array(hostileRequests(world), { minLength: 1, maxLength: together, size: 'max' });
  const run = async (requests: readonly Pieces[]): Promise<void> => {
    await sendLot(world, judge, requests);
    onProgress?.((sent += requests.length));
  };
  await fc.assert(fc.asyncProperty(lot, run), { seed, numRuns: Math.ceil((2 * times) / together) });
}

export async function sendLot(world: World, judge: Judge, requests: readonly Pieces[]): Promise<void> {
  const sent = await Promise.all(requests.map((pieces) => send(world.port, pieces)));
  await Promise.all(
    sent
      .filter(({ pieces }) => judge.owesAnswer(pieces))
      .map(({ client, pieces }) =>
        Promise.race([client.closed, client.until((text) => judge.isAnswered(pieces, text))]),
      ),
  );
  // Once these are answered, which takes reads of the store too, the engine has handled all others.
  for (let round = 0; round < 2; round++) await healthy(world);
  for (const { client, pieces } of sent) {
    if (judge.isRefused(pieces, client.text)) await client.closed;
    const outcome = { pieces, got: client.text, closed: client.over };
    client.destroy();
    try {
      judge.check(outcome);
    } catch (error) {
      throw new Error(
        `${(error as Error).message}\nsent ${JSON.stringify(pieces)}\ngot ${JSON.stringify(outcome.got)}`,
      );
    }
  }
}

async function send(port: number, pieces: Pieces): Promise<{ client: RawClient; pieces: Pieces }> {
  const client = new RawClient(port);
  client.socket.setNoDelay();
  for (const piece of pieces) await client.send(piece);
  return { client, pieces };
}

/** Throws unless the server serves. */
export async function healthy({ house, port }: World): Promise<void> {
  const client = new RawClient(port);
  await client.send(
    `GET /assistants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${house.key}\r\nConnection: close\r\n\r\n`,
  );
  await client.closed;
  if (!client.text.startsWith('HTTP/1.1 200 OK\r\n'))
    throw new Error(`The server is not well: ${JSON.stringify(client.text)}`);
}
