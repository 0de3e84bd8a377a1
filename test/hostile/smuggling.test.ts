/**
 * No request runs that is hidden in another, sent directly or through haproxy and nginx (contract 11, "Framing";
 * promise P14).
 */
import t, { type Test } from 'tap';
import { edges } from '../api/house.ts';
import { rawAsk } from '../api/raw.ts';
import { RawClient } from '../http/edge/harness.ts';
import { passedOver, vectors } from '../http/edge/vectors.ts';
import { healthy, sendLot } from './barrage.ts';
import { Judge } from './judge.ts';
import { openProxy, proxies, whyNoProxy } from './proxies.ts';
import { openWorld, type World } from './world.ts';

/** A request that nobody else sends, so each line of it in the log is a smuggled request that ran. */
const hidden = 'GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n';

for (const edge of edges) {
  t.test(edge, async (t) => {
    const world = await openWorld(t, edge, { env: { PARLEY_LOG: 'info' } });
    const all = vectorsAt(world);
    t.ok(all.length >= 250, `${all.length} requests`);
    await t.test('a smuggled request sent directly is refused', (t) =>
      directly(
        t,
        world,
        all.filter(([name]) => !passedOver[edge].includes(name)),
      ),
    );
    for (const proxy of proxies) {
      await t.test(`behind ${proxy}`, { skip: whyNoProxy(proxy) ?? false }, async (t) =>
        behind(t, world, await openProxy(t, proxy, world.port), all),
      );
    }
    await t.test('a visible request is reported', async (t) => {
      await rawAsk(world.house.url, '/readyz');
      t.equal(await readied(world), 1);
    });
  });
}

/** Every vector, with a key, whose body is read, and without one, refused before its body is read. */
function vectorsAt({ house }: World): Vector[] {
  const keys = ['', `Authorization: Bearer ${house.key}\r\nContent-Type: application/json\r\n`];
  return keys.flatMap((lines) =>
    Object.values(vectors('POST /sessions', 'GET /assistants', lines, hidden)).flatMap((group) =>
      Object.entries<string>(group),
    ),
  );
}

/** Number of requests for `/readyz` in the log, once it has all until now. */
async function readied({ house }: World): Promise<number> {
  const id = (await rawAsk(house.url, '/healthz')).headers.get('x-request-id')!;
  while (!house.stdout().includes(id)) await new Promise((resolve) => house.child.stdout!.once('data', resolve));
  return house.stdout().split('"route":"/readyz"').length - 1;
}

type Vector = readonly [name: string, bytes: string];

async function directly(t: Test, world: World, all: readonly Vector[]): Promise<void> {
  const judge = await Judge.open(world.edge, world.house);
  await inLots(t, world, all, (lot) =>
    sendLot(
      world,
      judge,
      lot.map(([, bytes]) => [bytes]),
    ),
  );
}

async function behind(t: Test, world: World, port: number, all: readonly Vector[]): Promise<void> {
  await inLots(t, world, all, async (lot) => {
    const clients = lot.map(() => new RawClient(port));
    await Promise.all(clients.map((client, index) => client.send(lot[index]![1])));
    await others(port);
    for (const client of clients) client.destroy();
    await healthy(world);
  });
}

/** Many at a time; where something ran, one at a time again, to name it. */
async function inLots(
  t: Test,
  world: World,
  all: readonly Vector[],
  send: (lot: readonly Vector[]) => Promise<void>,
): Promise<void> {
  const runs = async (lot: readonly Vector[]): Promise<boolean> => {
    const before = await readied(world);
    await send(lot);
    return (await readied(world)) > before;
  };
  for (let at = 0; at < all.length; at += together) {
    const lot = all.slice(at, at + together);
    const ran = (await runs(lot)) ? ['something of the lot'] : [];
    if (ran.length > 0) for (const one of lot) if (await runs([one])) ran.push(one[0]);
    t.same(ran, [], `${lot[0]![0]} and those after it: nothing hidden ran`);
  }
}

const together = 24;

/** Clients who come behind on the same connections to the server get their own answers. */
async function others(port: number): Promise<void> {
  const url = `http://127.0.0.1:${port}`;
  for (let round = 0; round < 2; round++) {
    for (const [path, expected] of [
      ['/healthz', /^\{"status":"ok"\}$/],
      ['/assistants', /"missing_api_key"/],
      ['/nowhere', /"route_not_found"/],
    ] as const) {
      const { text } = await rawAsk(url, path);
      if (!expected.test(text)) throw new Error(`${path} was answered with ${text}`);
    }
  }
}
