/** The secret of an assistant's link in the console: made, shown once, rotated and removed, by role (contract 23). */
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import { jwt } from '../../access/jwt.ts';
import { Visit } from '../link/visits.ts';
import { signedIn } from './people.ts';
import { findings, settled, within, type Console } from './console.ts';

export async function theIdentity(t: Test, console: Console): Promise<void> {
  await within(t, console, 'the secret of a link is made, rotated and removed', secretOfLink);
  await within(t, console, 'a verified visitor is marked in lists, on pages and in transcripts', verifiedShown);
  await within(t, console, 'a role that may not change an assistant sees no button for its secret', otherRoles);
}

const part = (page: Page) => page.getByRole('region', { name: 'Signed visitors' });

/** Reads the secret that is shown, and closes the dialog. */
async function secretShown(t: Test, page: Page): Promise<string> {
  const once = page.getByRole('dialog', { name: /^The signing secret of/ });
  const secret = (await once.locator('.once').textContent())!;
  await once.getByRole('button', { name: 'Copy the secret' }).waitFor();
  t.same(await findings(page, 'not contrast'), []);
  await once.getByLabel('I have saved it').check();
  await once.getByRole('button', { name: 'Done' }).click();
  t.notOk((await page.content()).includes(secret), 'the secret is nowhere any more');
  return secret;
}

async function secretOfLink(t: Test, page: Page, { url, house }: Console, complaints: string[]): Promise<void> {
  const { id } = await house.assistant({ name: 'guarded', channels: { link: true }, link: { slug: 'guarded' } });
  const path = `/workspaces/${house.workspaceId}/assistants/${id}`;
  const stored = async () => (await house.console(path)).json.link;
  const accepts = async (secret: string): Promise<number> => {
    const identity = jwt(secret, { sub: 'ada', exp: Math.floor(Date.now() / 1000) + 60 });
    return (await house.ask('/p/guarded/visitors', { key: null, body: { channel: 'link', identity } })).status;
  };
  await page.goto(url(house.workspaceId, 'assistants', `${id}?section=link`));
  await settled(page);
  await part(page).getByText('No secret yet: no visitor is verified.').waitFor();
  await part(page).getByLabel('Identity required').check();
  await part(page).getByText('Without a secret no identity is accepted').waitFor();
  t.same(await findings(page), []);
  await part(page).getByRole('button', { name: 'Create secret' }).click();
  const first = await secretShown(t, page);
  t.match(first, /^idn_/);
  t.equal(await accepts(first), 201);
  await part(page).getByText('The secret was made').waitFor();
  t.ok(await part(page).getByLabel('Identity required').isChecked(), 'what was changed and not saved stays');
  t.equal((await stored()).identity_required, false);
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
  t.match(await stored(), { identity_required: true, identity: { created_at: Number } });

  await part(page).getByRole('button', { name: 'Rotate secret' }).click();
  const rotate = page.getByRole('dialog', { name: 'Rotate secret' });
  await rotate.getByText('For 24 hours').waitFor();
  await rotate.getByRole('button', { name: 'Rotate secret' }).click();
  const second = await secretShown(t, page);
  t.not(second, first);
  t.same([await accepts(first), await accepts(second)], [201, 201]);

  await page.getByLabel('URL slug').fill('');
  await page.getByRole('checkbox', { name: 'Public link' }).uncheck();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
  t.match(await stored(), { slug: null, identity: { created_at: Number } }, 'a link that is off keeps its secret');

  await part(page).getByRole('button', { name: 'Remove secret' }).click();
  const remove = page.getByRole('dialog', { name: 'Remove secret' });
  await remove.getByText('nobody can begin a conversation').waitFor();
  t.same(await findings(page, 'not contrast'), []);
  await remove.getByRole('button', { name: 'Cancel' }).click();
  t.match(await stored(), { identity: { created_at: Number } });
  await part(page).getByRole('button', { name: 'Remove secret' }).click();
  await remove.getByRole('button', { name: 'Remove secret' }).click();
  await part(page).getByRole('button', { name: 'Create secret' }).waitFor();
  t.equal((await stored()).identity, null);

  complaints.length = 0;
  await house.console(path, { method: 'DELETE' });
  await part(page).getByRole('button', { name: 'Create secret' }).click();
  await part(page).getByRole('alert').waitFor();
  t.match(await part(page).getByRole('alert').textContent(), /req_\w{26}/, 'a failure is said where the button is');
  complaints.length = 0;

  await page.goto(`${url(house.workspaceId, 'assistants', 'new')}?section=link`);
  await part(page).getByText('Create the assistant first').waitFor();
}

async function verifiedShown(t: Test, page: Page, { url, house }: Console): Promise<void> {
  const { id } = await house.assistant({ name: 'knows', channels: { link: true }, link: { slug: 'knows' } });
  const path = `/workspaces/${house.workspaceId}/assistants/${id}`;
  const { secret } = (await house.console(`${path}/link/identity`, { method: 'POST' })).json;
  const identity = jwt(secret, { sub: 'ada', exp: Math.floor(Date.now() / 1000) + 60, visitor: { name: 'Ada' } });
  const signed = await Visit.to(house, 'knows', { body: { channel: 'link', identity } });
  const stranger = await Visit.to(house, 'knows');
  const [hers, theirs] = [await signed.session(), await stranger.session({ visitor: { name: 'Ada' } })];
  await signed.say(hers, 'A word of Ada');
  await stranger.say(theirs, 'A word of a stranger');

  await page.goto(url(house.workspaceId, `sessions?assistant_id=${id}`));
  const row = (words: string) => page.getByRole('row').filter({ hasText: words });
  await row('A word of Ada').getByText('verified').waitFor();
  t.equal(await row('A word of a stranger').getByText('verified').count(), 0, 'a name that was typed is no proof');
  t.same(await findings(page), []);
  for (const place of [
    ['sessions', hers.id],
    ['live', 'session', hers.id],
  ]) {
    await page.goto(url(house.workspaceId, ...place));
    const fact = page.locator('.facts div').filter({ has: page.getByText('Visitor', { exact: true }) });
    await fact.getByText('verified').waitFor();
    t.match(await fact.textContent(), hers.visitor_id);
    t.same(await findings(page), []);
  }
  await page.goto(url(house.workspaceId, 'sessions', hers.id));
  await page.getByRole('article', { name: 'Visitor' }).getByText('verified').waitFor();
  t.equal(await page.getByRole('article', { name: 'Assistant' }).getByText('verified').count(), 0);
  await signed.say(hers, 'Another word of Ada');
  await house.console(`${path}/link/identity`, { method: 'DELETE' });
  await signed.say(hers, 'No proof any more');
  const said = (words: string) => page.getByRole('article', { name: 'Visitor' }).filter({ hasText: words });
  await said('No proof any more').getByText('not verified').waitFor();
  t.equal(await said('Another word').getByText('verified').count(), 0, 'a mark holds for what follows it');
  await page.goto(url(house.workspaceId, 'sessions', theirs.id));
  await page.getByRole('article', { name: 'Visitor' }).waitFor();
  t.equal(await page.getByText('verified').count(), 0);
}

async function otherRoles(t: Test, _page: Page, console: Console): Promise<void> {
  const { house } = console;
  const { id } = await house.assistant({ name: 'read', link: { slug: 'read' } });
  const address = `${house.url}/console/${house.workspaceId}/assistants/${id}?section=link`;
  for (const role of ['editor', 'viewer', 'attendant']) {
    const { json } = await house.console('/sign-in-links', { body: { name: `Identity ${role}`, role } });
    const { page, context } = await signedIn(console, json.url);
    await page.goto(address);
    await settled(page);
    await part(page).getByText('No secret yet').waitFor();
    t.equal(await part(page).getByRole('button').count(), role === 'editor' ? 1 : 0, role);
    t.equal(await part(page).getByLabel('Identity required').isDisabled(), role !== 'editor');
    await context.close();
  }
}
