/** Visitors whom a site has signed in, at the widget on the site's pages (contract 23). */
import { readFile } from 'node:fs/promises';
import t, { type Test } from 'tap';
import type { Page } from 'playwright-core';
import { jwt } from '../../access/jwt.ts';
import { openHouse } from '../../api/house.ts';
import { whyNoBrowser } from '../../browser.ts';
import { openLink } from './browser.ts';
import { frameOf, launcherOf, openSites, say, until, type Sites, type Visitor } from './sites.ts';
import { linked } from './visits.ts';

const house = await openHouse(t);
const stub = `<script>window.parley = window.parley || function () { (parley.q = parley.q || []).push(arguments) };
window.errors = []; parley('on', 'error', ({ detail }) => errors.push(detail.code)); parley('open');</script>`;

let secret = '';
const signed = (sub: string, claims: object = {}): string =>
  jwt(secret, { sub, exp: Math.floor(Date.now() / 1000) + 600, ...claims });

const tagOf = (identity: string, more = ''): string => `data-slug="widget" data-identity="${identity}" ${more}`;

/** The texts of the page in the frame. */
const textOf = async (page: Page): Promise<string> =>
  (
    await page
      .frames()
      .find((one) => one.url().includes('/frame?'))!
      .locator('body')
      .innerText()
  ).replaceAll(/\s+/g, ' ');

/** Calls `parley.identify` as a script of the site does. */
const identify = (page: Page, token: string | null): Promise<unknown> =>
  page.evaluate((given) => (globalThis as any).parley.identify(given), token);

const linesOf = ({ complaints }: Visitor): string[] => complaints.filter((one) => one.startsWith('parley'));

/** All that the site and the frame have stored. */
async function storedBy(page: Page): Promise<string> {
  const storages = `(() => { try { return JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]); } catch { return ''; } })()`;
  return (await Promise.all(page.frames().map((frame) => frame.evaluate(storages)))).join('\n');
}

/** The sessions of the link, newest first. */
const sessions = async (): Promise<any[]> => (await house.ask('/sessions?limit=100')).json.data;

t.test('a site signs in the visitors of its widget', { skip: whyNoBrowser }, async (t) => {
  const sites = await openSites(t, house);
  const fields = ['name', 'topic'].map((name) => ({ name, label: name, type: 'text', required: name === 'name' }));
  const voice = { voice: { provider: 'synthetic', name: 'audio_ms=200' } };
  const channels = { voice: true, link: true, widget: true };
  const link = { greeting: 'Good day.', origins: ['*'], channels, ...voice };
  const assistant = await linked(house, 'widget', { ...link, name: 'tokens=2,delay_ms=0,text=confidence' });
  const secretOf = async ({ id }: { id: string }): Promise<string> =>
    (await house.console(`/workspaces/${house.workspaceId}/assistants/${id}/link/identity`, { method: 'POST' })).json
      .secret;
  secret = await secretOf(assistant);
  await fromTheTag(t, sites);
  await anotherPerson(t, sites);
  await byScript(t, sites);
  await otherTabs(t, sites);
  await refusals(t, sites);
  const formed = await linked(house, 'formed', { ...link, name: 'tokens=2,delay_ms=0', visitor_fields: fields });
  await signedFields(t, sites, await secretOf(formed));
  const strict = await linked(house, 'strict', link);
  const path = `/workspaces/${house.workspaceId}/assistants/${strict.id}`;
  await house.console(path, { method: 'PATCH', body: { link: { identity_required: true } } });
  await required(t, sites, await secretOf(strict));
});

async function fromTheTag(t: Test, sites: Sites): Promise<void> {
  for (const [name, more, origin] of [
    ['in the storage of the frame', '', sites.otherOrigin],
    ['in the storage of the site', 'data-remember', sites.origin],
  ] as const) {
    await t.test(`a visitor of data-identity is verified, and goes on after a reload, ${name}`, async (t) => {
      const token = signed(`tag ${more}`);
      sites.put('/signed', { head: stub, tags: [tagOf(token, more)] });
      const visitor = await sites.visit('/signed', { origin });
      const { page, context } = visitor;
      const addresses: string[] = [];
      page.on('request', (request) => void addresses.push(request.url()));
      await say(await frameOf(page), 'The word of Ada');
      const [session] = await sessions();
      t.match(session, { channel: 'widget', visitor_verified: true, visitor_id: /^vis_/ });
      const stored = await storedBy(page);
      t.match(stored, session.id);
      await page.reload();
      await (await frameOf(page)).getByText('The word of Ada').waitFor();
      await say(await frameOf(page), 'Another word of Ada');
      t.equal((await sessions())[0].id, session.id);
      for (const kept of [stored, await storedBy(page)]) {
        t.notMatch(kept, token.split('.')[2]!, 'the token is stored nowhere');
        t.match(kept, '"token\\":\\"\\"', 'and no token of the service');
        t.notMatch(kept, 'of Ada', 'and no word');
      }
      t.ok(addresses.length > 0 && addresses.every((one) => !one.includes(token.split('.')[1]!)), 'and in no address');
      t.same(visitor.complaints, []);
      await context.close();
    });
  }
  await t.test('an identity in the address of the script is ignored', async (t) => {
    const token = signed('address');
    sites.put('/address', { head: stub, query: `?identity=${token}` });
    const { page, context } = await sites.visit('/address');
    await say(await frameOf(page), 'Hello');
    t.match((await sessions())[0], { visitor_verified: false });
    await context.close();
  });
}

async function anotherPerson(t: Test, sites: Sites): Promise<void> {
  await t.test('nobody but the same visitor sees a conversation that the browser keeps', async (t) => {
    const origin = sites.otherOrigin;
    sites.put('/ada', { head: stub, tags: [tagOf(signed('ada'))] });
    sites.put('/bob', { head: stub, tags: [tagOf(signed('bob'))] });
    sites.put('/nobody', { head: stub });
    const { page, context } = await sites.visit('/ada', { origin });
    await say(await frameOf(page), 'The word of Ada');
    const go = async (path: string): Promise<string> => {
      await page.goto(origin + path);
      await (await frameOf(page)).getByText('Good day.').waitFor();
      return textOf(page);
    };
    t.notMatch(await go('/nobody'), 'Ada', 'a page without identity');
    await go('/ada');
    await (await frameOf(page)).getByText('The word of Ada').waitFor();
    t.pass('Ada comes back');
    await go('/bob');
    await say(await frameOf(page), 'The word of Bob');
    t.notMatch(await textOf(page), 'Ada');
    await go('/ada');
    await say(await frameOf(page), 'Ada again');
    t.notMatch(await textOf(page), /Bob|The word of Ada/, 'it was forgotten');
    t.notMatch(await storedBy(page), /Bob|word/);
    await go('/nobody');
    await say(await frameOf(page), 'The word of a stranger');
    await go('/bob');
    await say(await frameOf(page), 'Bob again');
    t.notMatch(await textOf(page), /stranger|Ada/, 'neither is that of somebody who was not signed in');
    const found = (await sessions()).slice(0, 5).map((one) => one.visitor_id);
    t.same(found[0], found[3], 'a visitor has one id in all conversations');
    await context.close();
  });
}

async function byScript(t: Test, sites: Sites): Promise<void> {
  await t.test('parley.identify changes the visitor, and keeps the conversation of the same one', async (t) => {
    sites.put('/app', { head: stub });
    const visitor = await sites.visit('/app', { origin: sites.otherOrigin });
    const { page, context } = visitor;
    await say(await frameOf(page), 'The word of a stranger');
    await identify(page, null);
    await say(await frameOf(page), 'Still a stranger');
    t.match(await textOf(page), 'The word of a stranger', 'nobody stays nobody');
    await (await frameOf(page)).locator('#message').fill('What a stranger typed');
    await identify(page, signed('ada'));
    await until(page.frames()[1]!, `!document.body.innerText.includes('stranger')`);
    const frame = await frameOf(page);
    t.equal(await frame.locator('#message').inputValue(), '');
    await say(frame, 'The word of Ada');
    t.match((await sessions())[0], { visitor_verified: true });
    await identify(page, signed('ada', { jti: 'a later one' }));
    await say(frame, 'Ada stays');
    t.match(await textOf(page), /The word of Ada.*Ada stays/);
    t.notMatch(await textOf(page), 'stranger');
    await frame.locator('#message').fill('What Ada typed');
    await identify(page, null);
    await until(page.frames()[1]!, `!document.body.innerText.includes('Ada')`);
    // The frame forgets its session once the code of identities has come.
    for (const one of page.frames()) await until(one, `!JSON.stringify({ ...localStorage }).includes('ses_')`);
    t.notMatch(await storedBy(page), 'ses_', 'a sign-out forgets');
    t.equal(await (await frameOf(page)).locator('#message').inputValue(), '');
    await identify(page, signed('bob'));
    await say(await frameOf(page), 'The word of Bob');
    t.match((await sessions())[0], { visitor_verified: true });
    t.notMatch(await textOf(page), /Ada|stranger/);
    await page.evaluate(`parley('widget.identify', '')`);
    await until(page.frames()[1]!, `!document.body.innerText.includes('Bob')`);
    t.same(visitor.complaints, []);
    await context.close();
  });
  await t.test('the script of docs/widget.md signs a visitor in before the widget is there, and out', async (t) => {
    const documented = (await readFile('docs/widget.md', 'utf8'))
      .split('```html\n')
      .find((one) => one.includes('onSignIn'))!
      .split('```')[0]!;
    const answer = `<script>window.fetch = async () => new Response('${signed('early')}'); parley('open'); onSignIn();</script>`;
    sites.put('/early', { head: documented + answer });
    const { page, context } = await sites.visit('/early');
    await say(await frameOf(page), 'The word of Ada');
    t.match((await sessions())[0], { visitor_verified: true });
    await page.evaluate('onSignOut()');
    await until(page.frames()[1]!, `!document.body.innerText.includes('Ada')`);
    await say(await frameOf(page), 'Hello');
    t.match((await sessions())[0], { visitor_verified: false });
    await context.close();
  });
}

async function otherTabs(t: Test, sites: Sites): Promise<void> {
  await t.test('a sign-out holds for the other tabs of the visitor, and for nobody else', async (t) => {
    const origin = sites.otherOrigin;
    for (const name of ['ada', 'bob']) sites.put(`/${name}`, { head: stub, tags: [tagOf(signed(name))] });
    const { page, context } = await sites.visit('/ada', { origin });
    await say(await frameOf(page), 'The word of Ada');
    const [second, bob] = [await context.newPage(), await context.newPage()];
    await second.goto(`${origin}/ada`);
    await (await frameOf(second)).getByText('The word of Ada').waitFor();
    await bob.goto(`${origin}/bob`);
    await say(await frameOf(bob), 'The word of Bob');
    await identify(page, null);
    for (const tab of [page, second]) await until(tab.frames()[1]!, `!document.body.innerText.includes('Ada')`);
    await say(await frameOf(second), 'Hello');
    t.match((await sessions())[0], { visitor_verified: false });
    await say(await frameOf(bob), 'Bob stays');
    t.match(await textOf(bob), /The word of Bob.*Bob stays/);
    await context.close();
  });
}

const unconfirmed = 'Your sign-in could not be confirmed.';

async function refusals(t: Test, sites: Sites): Promise<void> {
  const expired = (): string => signed('ada', { exp: Math.floor(Date.now() / 1000) - 3600 });
  for (const [name, token, line] of [
    ['expired', expired, 'parley: the identity for "widget" has expired. '],
    ['of another secret', () => jwt('idn_other', { sub: 'ada', exp: Date.now() / 1000 + 60 }), 'was refused. Sign it '],
    ['no token at all', () => 'ada', 'parley: the identity for "widget" was refused. Sign it by HS256 '],
    ['of 100 KB', () => signed('ada', { text: 'x'.repeat(75_000) }), 'has more than 4,096 characters. '],
  ] as const) {
    await t.test(`an identity that is ${name} opens no conversation, and one line says what to do`, async (t) => {
      sites.put('/refused', { head: stub, tags: [tagOf(token())] });
      const visitor = await sites.visit('/refused');
      const { page, context } = visitor;
      const frame = await frameOf(page);
      await frame.getByText(unconfirmed).waitFor();
      t.equal(await frame.locator('#message').isVisible(), false);
      t.equal(await frame.locator('#page button:visible').count(), 1, 'there is a button that closes it, and no other');
      await until(page, 'errors.length === 1');
      t.same(await page.evaluate('errors'), ['invalid_token']);
      t.equal(linesOf(visitor).length, 1);
      t.match(linesOf(visitor)[0], line);
      t.notMatch(visitor.complaints.join(), token().slice(0, 60), 'nothing of the token is logged');
      await page.evaluate(`parley('locale', 'de')`);
      await frame.getByText('Ihre Anmeldung ließ sich nicht bestätigen.').waitFor();
      await identify(page, signed('ada'));
      await frame.locator('#message').waitFor();
      await say(frame, 'Hello');
      await identify(page, token());
      await frame.getByText('Ihre Anmeldung ließ sich nicht bestätigen.').waitFor();
      t.notMatch(await textOf(page), 'Hello');
      await context.close();
    });
  }
}

async function signedFields(t: Test, sites: Sites, own: string): Promise<void> {
  await t.test('fields of the token are not asked for, and win', async (t) => {
    const exp = Math.floor(Date.now() / 1000) + 600;
    const token = (visitor: object): string => jwt(own, { sub: 'ada', exp, visitor });
    sites.put('/form', { head: stub, tags: [`data-slug="formed" data-identity="${token({ name: 'Ädä' })}"`] });
    const { page, context } = await sites.visit('/form');
    const frame = await frameOf(page, 'formed');
    await frame.getByLabel('topic').fill('Tea');
    t.equal(await frame.getByLabel('name').isVisible(), false);
    await say(frame, 'Hello');
    t.match((await sessions())[0], { visitor: { name: 'Ädä', topic: 'Tea' }, visitor_verified: true });
    await identify(page, null);
    await frame.getByLabel('name').waitFor();
    t.equal(await frame.getByLabel('topic').inputValue(), '', 'what was typed is gone');
    await page.evaluate(`parley('visitor', { name: 'Eve' })`);
    await until(frame, `document.querySelector('[name=name]').value === 'Eve'`);
    await identify(page, token({ name: 'Ada', topic: 'Milk' }));
    await frame.locator('#fields').waitFor({ state: 'hidden' });
    await say(frame, 'Hello');
    t.match((await sessions())[0].visitor, { name: 'Ada', topic: 'Milk' });
    await identify(page, null);
    await frame.getByLabel('name').waitFor();
    t.equal(await frame.getByLabel('name').inputValue(), '');
    await context.close();
  });
}

async function required(t: Test, sites: Sites, own: string): Promise<void> {
  const wanted = 'This conversation is for signed-in visitors.';
  await t.test('where an identity is required, a page without one says so, and asks for nothing', async (t) => {
    sites.put('/strict', { head: stub, tags: ['data-slug="strict"'] });
    const visitor = await sites.visit('/strict');
    const { page, context, asked } = visitor;
    const frame = await frameOf(page, 'strict');
    await frame.getByText(wanted).waitFor();
    await until(page, 'errors.length === 1');
    t.equal(linesOf(visitor).length, 1);
    t.match(linesOf(visitor)[0], '"strict" admits only visitors whom this site has signed in. Give their token to ');
    t.notOk(asked.includes('/p/strict/visitors'));
    await identify(page, jwt(own, { sub: 'ada', exp: Math.floor(Date.now() / 1000) + 60 }));
    await say(frame, 'Hello');
    await identify(page, null);
    await frame.getByText(wanted).waitFor();
    t.notMatch(await textOf(page), 'Hello');
    await context.close();
  });
  await t.test('the public page has no way to sign in, and says so', async (t) => {
    const { page, context, complaints } = await openLink(sites.browser, `${house.url}/p/strict`);
    await page.getByText(wanted).waitFor();
    t.equal(await page.locator('#message').isVisible(), false);
    t.same(complaints, []);
    await context.close();
  });
  await t.test('a page that was open when identity became required says so at the first message', async (t) => {
    const assistant = await linked(house, 'stricter', { origins: [sites.origin] });
    sites.put('/stricter', { head: stub, tags: ['data-slug="stricter"'] });
    const visitor = await sites.visit('/stricter');
    const { page, context } = visitor;
    const frame = await frameOf(page, 'stricter');
    const path = `/workspaces/${house.workspaceId}/assistants/${assistant.id}`;
    await house.console(path, { method: 'PATCH', body: { link: { identity_required: true } } });
    await frame.locator('#message').fill('Hello');
    await frame.locator('#message').press('Enter');
    await frame.getByText(wanted).waitFor();
    t.equal(linesOf(visitor).length, 1);
    await context.close();
  });
}

t.test('a hostile page learns nothing of an identity, and sets none', { skip: whyNoBrowser }, async (t) => {
  const sites = await openSites(t, house);
  const assistant = await linked(house, 'guarded', { origins: [sites.origin], greeting: 'Good day.' });
  const path = `/workspaces/${house.workspaceId}/assistants/${assistant.id}/link/identity`;
  secret = (await house.console(path, { method: 'POST' })).json.secret;
  await otherFrames(t, sites);
  await floods(t, sites);
});

async function otherFrames(t: Test, sites: Sites): Promise<void> {
  await t.test('an identity that another frame posts is ignored, and none is sent to it', async (t) => {
    const token = signed('ada');
    const evil = `<script>
      window.heard = [];
      addEventListener('message', ({ data }) => heard.push(data));
      window.attack = () => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = ({ data }) => heard.push(data);
        parent.postMessage('parley:hello:1', '*', [port2]);
        for (const target of [parent, ...Array.from({ length: parent.length }, (_, at) => parent[at])])
          for (const data of [{ type: 'identity', token: '${signed('eve')}' }, 'parley:hello:1']) {
            const { port1, port2 } = new MessageChannel();
            port1.onmessage = ({ data }) => heard.push(data);
            port1.postMessage({ type: 'identity', token: '' });
            target.postMessage(data, '*', [port2]);
          }
      };
    </script>`;
    sites.put('/evil', { tags: [], head: evil });
    sites.put('/victim', {
      head: stub,
      tags: [`data-slug="guarded" data-identity="${token}"`],
      body: `<iframe id="evil" src="${sites.otherOrigin}/evil"></iframe>`,
    });
    const visitor = await sites.visit('/victim');
    const { page, context } = visitor;
    const frame = await frameOf(page, 'guarded');
    await say(frame, 'The word of Ada');
    const evilFrame = page.frames().find((one) => one.url().endsWith('/evil'))!;
    await evilFrame.evaluate('attack()');
    // The frame's and the page's messages come in the order in which they were posted.
    for (const one of [page, frame])
      await one.evaluate(
        `new Promise((done) => { addEventListener('message', ({ data }) => data === 'last' && done()); postMessage('last', '*'); })`,
      );
    await say(frame, 'Ada again');
    t.match(await textOf(page), /The word of Ada.*Ada again/);
    const heard = JSON.stringify(await evilFrame.evaluate('heard'));
    t.notMatch(heard, token.split('.')[1]!);
    t.equal((await sessions())[0].message_count ?? 4, 4);
    t.same(linesOf(visitor), []);
    await context.close();
  });
}

async function floods(t: Test, sites: Sites): Promise<void> {
  await t.test('100,000 identities cost less than one request for each hundred, and the last one holds', async (t) => {
    sites.put('/flood', { head: stub, tags: ['data-slug="guarded"'] });
    const { page, context, asked } = await sites.visit('/flood');
    await say(await frameOf(page, 'guarded'), 'The word of a stranger');
    const tokens = ['ada', 'bob', 'cy'].map((sub) => signed(sub));
    await page.evaluate(
      `{ const tokens = ${JSON.stringify(tokens)}; for (let at = 0; at < 99_999; at++) parley.identify(at % 7 ? tokens[at % 3] : tokens[at % 3] + at); parley.identify(${JSON.stringify(signed('last'))}); }`,
    );
    const frame = await frameOf(page, 'guarded');
    await until(
      frame,
      `document.body.innerText.includes('Good day.') && !document.body.innerText.includes('stranger')`,
    );
    await until(frame, `document.querySelector('#message')?.checkVisibility()`);
    await say(frame, 'The word of the last');
    t.match((await sessions())[0], { visitor_verified: true });
    const requests = asked.filter((one) => one === '/p/guarded/visitors').length;
    t.ok(requests < 1000, `${requests} requests for a visitor`);
    await context.close();
  });
  await t.test('a token of 100 KB is never sent', async (t) => {
    sites.put('/long', { head: stub, tags: ['data-slug="guarded"'] });
    const { page, context, asked } = await sites.visit('/long');
    const frame = await frameOf(page, 'guarded');
    await page.evaluate(`for (let at = 0; at < 1000; at++) parley.identify('x'.repeat(100_000) + at)`);
    await frame.getByText(unconfirmed).waitFor();
    t.notOk(asked.includes('/p/guarded/visitors'));
    for (const odd of ['{}', '7', '[]', 'true', 'new Date()', 'Promise.resolve()', '{ toString: () => "x" }'])
      await page.evaluate(`parley.identify(${odd})`);
    await page.evaluate('parley.identify()');
    await say(frame, 'Hello');
    t.match((await sessions())[0], { visitor_verified: false });
    await launcherOf(page).isVisible();
    await context.close();
  });
}
