/** Sign-ins and their links over time (contract 9), with a manual clock. */
import t, { type Test } from 'tap';
import { secondsOf } from '../../src/base/clock.ts';
import { randomIds } from '../../src/base/ids.ts';
import { limits } from '../../src/base/limits.ts';
import { openLog } from '../../src/base/log.ts';
import { ownerOfAll } from '../../src/base/roles.ts';
import { installation } from '../../src/store/records.ts';
import { memoryStore } from '../../src/store/memory.ts';
import type { Store } from '../../src/store/store.ts';
import { signInLinkSweepSeconds } from '../../src/access/sign-in-links.ts';
import { signInEnd, SignIns } from '../../src/access/sign-ins.ts';
import { SignInThrottle } from '../../src/access/throttle.ts';
import { ManualClock } from '../providers/model/provider.ts';

const hour = 3600_000;
const from = { address: '192.0.2.1', agent: 'browser' };
const operatorToken = 'an-operator-token-of-the-tests';

interface Scene {
  readonly clock: ManualClock;
  readonly store: Store;
  readonly signIns: SignIns;
  /** The same store, as another process has it. */
  other(token?: string): SignIns;
}

async function open(t: Test): Promise<Scene> {
  const clock = new ManualClock();
  const store = memoryStore();
  await store.open(clock.now());
  t.teardown(() => store.close());
  const other = (token = operatorToken): SignIns =>
    new SignIns({ store, clock, ids: randomIds(clock), log: openLog('silent', clock), operatorToken: token });
  return { clock, store, signIns: other(), other };
}

/** Waits until work that a timer began has ended: the store in memory needs only turns of the event loop. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => setImmediate(resolve));
};

/** Time passes, and what its timers have begun comes to its end. */
async function pass({ clock }: Scene, ms: number): Promise<void> {
  clock.advance(ms);
  await settled();
}

t.test('a sign-in ends 12 hours after its last use', async (t) => {
  const scene = await open(t);
  const { cookie, signIn } = await scene.signIns.begin(null, from);
  t.equal(signInEnd(signIn) - secondsOf(scene.clock.now()), 12 * 3600);
  await pass(scene, 12 * hour - 1000);
  t.equal((await scene.signIns.use(cookie))?.signIn.id, signIn.id);
  await pass(scene, 12 * hour - 1000);
  t.ok(await scene.signIns.use(cookie), 'each use gives it another 12');
  await pass(scene, 12 * hour);
  t.equal(await scene.signIns.use(cookie), null);
  t.same(await scene.signIns.list(), []);
  t.equal(await scene.signIns.end(signIn.id), false, 'there is nothing to end');
});

t.test('a sign-in ends 7 days after it began, however often it is used', async (t) => {
  const scene = await open(t);
  const { cookie } = await scene.signIns.begin(null, from);
  for (let passed = 0; passed < 7 * 24 - 6; passed += 6) {
    await pass(scene, 6 * hour);
    const shown = await scene.signIns.use(cookie);
    t.ok(shown, `after ${passed + 6} hours`);
    t.ok(signInEnd(shown!.signIn) <= shown!.signIn.signedInAt + 7 * 24 * 3600);
  }
  await pass(scene, 6 * hour - 1000);
  t.ok(await scene.signIns.use(cookie));
  await pass(scene, 1000);
  t.equal(await scene.signIns.use(cookie), null);
});

t.test('the last use is stored once a minute, and what is used often is kept by another process too', async (t) => {
  const scene = await open(t);
  const { cookie, signIn } = await scene.signIns.begin(null, from);
  const stored = async () => (await scene.store.catalog.read('sign_in', installation, signIn.id))!;
  for (let time = 0; time < 30; time++) {
    await pass(scene, 1000);
    t.equal((await scene.signIns.use(cookie))?.renew, false);
  }
  t.equal((await stored()).version, 1, 'nothing is written at once');
  t.equal((await scene.signIns.list())[0]!.lastSeenAt, secondsOf(scene.clock.now()), 'this process knows');
  const used = secondsOf(scene.clock.now());
  await pass(scene, 61_000);
  t.match(await stored(), { version: 2, record: { lastSeenAt: used } }, 'one write for all of them');
  t.equal((await scene.other().use(cookie))?.renew, true, 'the browser is given the cookie again');
  await pass(scene, 12 * hour - 120_000);
  t.ok(await scene.other().use(cookie));
  const { timers } = scene.clock;
  await pass(scene, 61_000);
  t.ok(scene.clock.timers < timers, 'and no timer stays');
});

t.test('a process that ends stores the last uses', async (t) => {
  const scene = await open(t);
  const { cookie, signIn } = await scene.signIns.begin(null, from);
  await pass(scene, 30_000);
  await scene.signIns.use(cookie);
  await scene.signIns.close();
  t.equal(
    (await scene.store.catalog.read('sign_in', installation, signIn.id))?.record.lastSeenAt,
    secondsOf(scene.clock.now()),
  );
  t.equal(scene.clock.timers, 0);
});

t.test('a sign-in used while it is ended stays ended', async (t) => {
  const scene = await open(t);
  const { cookie, signIn } = await scene.signIns.begin(null, from);
  await pass(scene, 10_000);
  await scene.signIns.use(cookie);
  t.equal(await scene.other().end(signIn.id), true);
  await pass(scene, 61_000);
  t.equal(
    await scene.store.catalog.read('sign_in', installation, signIn.id),
    null,
    'the write of its last use brings nothing back',
  );
  t.equal(await scene.signIns.use(cookie), null);
});

t.test('a cookie is valid only as a whole', async (t) => {
  const scene = await open(t);
  const { cookie } = await scene.signIns.begin(null, from);
  const { cookie: second } = await scene.signIns.begin(null, from);
  const [id, secret] = cookie.split('.') as [string, string];
  for (const wrong of [
    '',
    id,
    `${id}.`,
    `${id}.${secret.slice(1)}`,
    `${id}.${secret}x`,
    `${id}.${second.split('.')[1]}`,
    `sin_${cookie}`,
    `${'0'.repeat(26)}.${secret}`,
  ]) {
    t.equal(await scene.signIns.use(wrong), null, wrong);
  }
  t.ok(await scene.signIns.use(cookie));
  const rows = JSON.stringify(
    await scene.store.catalog.list('sign_in', installation, { limit: 10, after: null, order: 'asc' }),
  );
  t.notOk(rows.includes(secret), 'the store does not have the secret');
});

t.test('a link is valid once, for ten minutes, and in one process', async (t) => {
  const scene = await open(t);
  const { token, expiresAt } = await scene.signIns.links.make('Ada');
  t.equal(expiresAt, secondsOf(scene.clock.now()) + 600);
  const rows = JSON.stringify(
    await scene.store.catalog.list('sign_in_link', installation, { limit: 10, after: null, order: 'asc' }),
  );
  t.notOk(rows.includes(token), 'the store does not have the token');
  const other = scene.other();
  const taken = await Promise.all(
    [1, 2, 3, 4].flatMap(() => [scene.signIns.links.take(token), other.links.take(token)]),
  );
  t.same(
    taken.filter((link) => link !== null).map((link) => link.name),
    ['Ada'],
  );
  const late = await scene.signIns.links.make('Bob');
  await pass(scene, 599_000);
  const last = await scene.signIns.links.make('Cy');
  await pass(scene, 1000);
  t.equal(await scene.signIns.links.take(late.token), null, 'past its time');
  t.equal((await scene.signIns.links.take(last.token))?.name, 'Cy');
  await scene.signIns.links.make('Di');
  await pass(scene, 600_000);
  await scene.signIns.links.make('Ed');
  t.equal(
    (await scene.store.catalog.list('sign_in_link', installation, { limit: 10, after: null, order: 'asc' })).items
      .length,
    1,
    'those past their time are removed',
  );
});

t.test('expired links are swept at intervals, not at each new link', async (t) => {
  const scene = await open(t);
  let pages = 0;
  const { catalog } = scene.store;
  const list = catalog.list.bind(catalog);
  catalog.list = (...args) => {
    pages++;
    return list(...args);
  };
  for (let link = 0; link < 500; link++) await scene.signIns.links.make(`Person ${link}`);
  t.equal(pages, 1);
  await pass(scene, signInLinkSweepSeconds * 1000);
  await scene.signIns.links.make('Ada');
  t.ok(pages > 1);
});

t.test('a new operator token ends all sign-ins and links, for good', async (t) => {
  const scene = await open(t);
  const { cookie, signIn } = await scene.signIns.begin(null, from);
  const { token } = await scene.signIns.links.make('Ada');
  const later = scene.other('another-operator-token-of-the-tests');
  t.not(later.cookieName, scene.signIns.cookieName);
  t.equal(await later.use(cookie), null);
  t.same(await later.list(), []);
  t.equal(await later.end(signIn.id), false);
  t.equal(await later.links.take((await scene.signIns.links.make('Bob')).token), null);
  const { cookie: own } = await later.begin(null, from);
  t.equal(await scene.signIns.use(own), null, 'nor does the old one know what began under the new');
  await later.endThoseBefore();
  t.equal(await scene.signIns.links.take(token), null);
  t.equal(await scene.signIns.use(cookie), null, 'also once the old token is back');
  t.ok(await later.use(own));
});

t.test('signing out everywhere ends all sign-ins of one person, and of nobody else', async (t) => {
  const scene = await open(t);
  const cookies = [];
  for (const link of [null, { name: 'Ada' }, null, { name: 'Ada' }])
    cookies.push(await scene.signIns.begin(link, from));
  const [one, ada, two, namesake] = cookies as [
    (typeof cookies)[0],
    (typeof cookies)[0],
    (typeof cookies)[0],
    (typeof cookies)[0],
  ];
  t.same(
    [one.signIn.person, two.signIn.person],
    [
      { id: 'operator', name: 'operator' },
      { id: 'operator', name: 'operator' },
    ],
  );
  t.match(ada.signIn.person, { id: /^prs_[0-9a-z]{26}$/, name: 'Ada' });
  t.not(ada.signIn.person.id, namesake.signIn.person.id);
  await scene.other().endAll('operator');
  t.same(
    (await scene.signIns.list()).map(({ id }) => id),
    [namesake.signIn.id, ada.signIn.id],
  );
  t.equal(await scene.signIns.use(two.cookie), null);
});

t.test('open connections end with their sign-in, and the store is polled only while there are any', async (t) => {
  const scene = await open(t);
  const over: string[] = [];
  const begin = async (name: string) => {
    const begun = await scene.signIns.begin({ name }, from);
    return { ...begun, stop: scene.signIns.open.whenOver(begun.signIn.id, ownerOfAll, () => over.push(name)) };
  };
  const [here, elsewhere, late, left] = [
    await begin('here'),
    await begin('elsewhere'),
    await begin('late'),
    await begin('left'),
  ];
  left.stop();
  await scene.signIns.end(left.signIn.id);
  await scene.signIns.end(here.signIn.id);
  t.same(over, ['here'], 'at once where it is ended');
  await scene.other().end(elsewhere.signIn.id);
  await pass(scene, 1000);
  t.same(over, ['here', 'elsewhere'], 'within a second where it is not');
  await pass(scene, 12 * hour);
  t.same(over, ['here', 'elsewhere', 'late'], 'and when its time is up');
  late.stop();
  await pass(scene, 2000);
  t.equal(scene.clock.timers, 0);
});

t.test('the least recently used sign-in ends when there are too many', async (t) => {
  const scene = await open(t);
  const begun = [];
  for (let count = 0; count < limits.signInsMax; count++) begun.push(await scene.signIns.begin(null, from));
  await pass(scene, 1000);
  await scene.signIns.use(begun[0]!.cookie);
  await scene.signIns.begin(null, from);
  t.equal((await scene.signIns.list()).length, limits.signInsMax);
  t.ok(await scene.signIns.use(begun[0]!.cookie));
  t.equal(await scene.signIns.use(begun[1]!.cookie), null);
});

t.test('ten failures a minute are counted for an address and a hundred for all; a refusal costs nothing', async (t) => {
  const clock = new ManualClock();
  const throttle = new SignInThrottle(clock);
  for (let time = 0; time < 10; time++) t.equal(throttle.take('192.0.2.1'), null);
  for (let time = 0; time < 20; time++) t.equal(throttle.take('192.0.2.1'), 6, 'a refusal costs nothing');
  clock.advance(5999);
  t.equal(throttle.take('192.0.2.1'), 1);
  clock.advance(1);
  t.equal(throttle.take('192.0.2.1'), null);
  for (let time = 0; time < 99; time++) t.equal(throttle.take(`198.51.100.${time}`), null);
  t.equal(throttle.take('203.0.113.1'), 1, 'the bucket of all addresses is empty');
  clock.advance(60_000);
  for (let time = 0; time < 10; time++)
    t.equal(throttle.take('203.0.113.1'), null, 'the refusal by the bucket of all cost the address nothing');
});
