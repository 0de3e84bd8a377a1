/**
 * Clients who take and never give: slow heads, slow bodies, slow readers, and connections by the hundred (promise P21);
 * `npm run fuzz -- --what slow` has thousands.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { edges } from '../api/house.ts';
import { RawClient } from '../http/edge/harness.ts';
import { whyMissing } from '../installed.ts';
import { until } from '../api/talk.ts';
import { healthy } from './barrage.ts';
import { askAndNeverRead, beginWriting, longTurn } from './slow.ts';
import { attacks, beginAttack } from './slowhttptest.ts';
import { openWorld, type World } from './world.ts';

// Before there is a server: while the program is installed this process stands still, and a kept connection is closed.
const lacking = whyMissing('slowhttptest');

for (const edge of edges) {
  t.test(edge, async (t) => {
    const world = await openWorld(t, edge, { env: { PARLEY_LOG: 'silent' } });
    await t.test('slow writers are ended and hold up nobody', (t) => slowWriters(t, world));
    await t.test('slow readers are ended and hold up nobody', (t) => slowReaders(t, world));
    await t.test('a transcript that is long', (t) => longTranscript(t, world));
    await t.test('connections that say nothing', (t) => silent(t, world));
    await t.test('connections that are reset', (t) => resets(t, world));
    await t.test('the server stays available under slowhttptest', { skip: lacking ?? false }, (t) =>
      slowhttptest(t, world),
    );
  });
}

/** Served well, as others are while this lasts. */
async function serves(t: Test, world: World, name: string): Promise<void> {
  for (let round = 0; round < 10; round++) await healthy(world);
  const session = await world.house.session(world.ids.assistants);
  const stream = await world.house.stream(`/sessions/${session.id}/chat`, { body: { message: 'Hello' } });
  t.equal((await stream.rest()).at(-1)!.event, 'turn.completed', `${name}: others are served`);
}

async function slowWriters(t: Test, world: World): Promise<void> {
  const clients = await beginWriting(world, 100);
  await serves(t, world, '100 slow writers');
  for (let byte = 0; byte < 5; byte++) await Promise.all(clients.map((client) => client.over || client.send(' ')));
  await serves(t, world, 'a byte at a time');
  await gone(t, world, clients);
}

async function slowReaders(t: Test, world: World): Promise<void> {
  const replay = await longTurn(world);
  const before = residentBytes(world);
  const clients = await askAndNeverRead(world, replay, 40);
  await serves(t, world, '40 slow readers');
  const perReader = (residentBytes(world) - before) / clients.length;
  t.ok(perReader < 2 * 1024 * 1024, `${Math.round(perReader / 1024)} KiB of memory for each`);
  await gone(t, world, clients);
}

async function slowhttptest(t: Test, world: World): Promise<void> {
  const begun = await Promise.allSettled(attacks.map((attack) => beginAttack(world, attack, 100)));
  t.teardown(() => Promise.all(begun.map((attack) => attack.status === 'fulfilled' && attack.value())));
  t.same(
    begun.flatMap((attack) => (attack.status === 'rejected' ? [attack.reason] : [])),
    [],
  );
  await serves(t, world, attacks.join(', '));
}

/**
 * An answer that is no stream is buffered whole for its reader, so a long transcript comes a page at a time, and all of
 * it comes.
 */
async function longTranscript(t: Test, world: World): Promise<void> {
  const { house } = world;
  const session = (await longTurn(world)).split('/')[2]!;
  for (let turn = 0; turn < 3; turn++)
    await (await house.stream(`/sessions/${session}/chat`, { body: { message: `Turn ${turn}` } })).rest();
  for (const ask of [house.ask, (path: string) => house.console(`/workspaces/${house.workspaceId}${path}`)]) {
    for (const order of ['asc', 'desc']) {
      const seen: { id: string; content: string }[] = [];
      for (let after: string | null = ''; after !== null;) {
        const { text, json } = await ask(
          `/sessions/${session}/transcript?limit=100&order=${order}${after && `&after=${after}`}`,
        );
        t.ok(
          text.length < 300_000 && json.data.length > 0,
          `${order}: a page of ${json.data.length} messages and ${text.length} characters`,
        );
        t.equal(json.has_more, json.next_cursor !== null);
        seen.push(...json.data);
        after = json.next_cursor;
      }
      t.equal(new Set(seen.map(({ id }) => id)).size, 8, `${order}: every message`);
      t.same(
        seen
          .map(({ content }) => content.length)
          .sort((a, b) => b - a)
          .slice(0, 4),
        [151_500, 151_500, 151_500, 151_500],
        `${order}: whole`,
      );
    }
  }
}

async function silent(t: Test, world: World): Promise<void> {
  const clients = Array.from({ length: 400 }, () => new RawClient(world.port));
  await Promise.all(clients.map(({ socket }) => (socket.connecting ? once(socket, 'connect') : null)));
  await serves(t, world, '400 connections');
  await gone(t, world, clients);
}

async function resets(t: Test, world: World): Promise<void> {
  const request = `GET /assistants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${world.house.key}\r\n\r\n`;
  const clients = Array.from({ length: 200 }, () => new RawClient(world.port));
  await Promise.all(
    clients.map(async (client, index) => {
      if (index % 2 === 0) await client.send(request);
      client.socket.resetAndDestroy();
    }),
  );
  await serves(t, world, '200 resets');
  await gone(t, world, clients);
}

/** Checks that the server has closed every connection. */
async function gone(t: Test, world: World, clients: readonly RawClient[]): Promise<void> {
  for (const client of clients) client.destroy();
  if (!existsSync('/proc/self/fd')) return;
  await until(() => descriptors(world) <= 100);
  t.pass('every connection is let go of');
}

const descriptors = ({ house }: World): number => readdirSync(`/proc/${house.child.pid}/fd`).length;

/** Resident bytes as the system counts them; 0 if it does not. */
function residentBytes({ house }: World): number {
  if (!existsSync('/proc/self/status')) return 0;
  return 1024 * Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${house.child.pid}/status`, 'utf8'))?.[1] ?? 0);
}
