/** Rollouts in the console: started, watched live, changed, halted, promoted, ended; open sessions moved. */
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import { findings, settled, within, type Console } from './console.ts';
import { signedIn } from './people.ts';

export async function theRollouts(t: Test, console: Console): Promise<void> {
  await within(t, console, 'a rollout of the draft is started, changed and promoted', rolledOut);
  await within(t, console, 'a halted rollout says why, and rolls again or ends', halted);
  await within(t, console, 'sessions that are open are moved, and the transcript says where', recalled);
  await within(t, console, 'a form refuses what no rollout can be', refused);
  await within(t, console, 'a viewer sees a rollout and no button of it', viewed);
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });
const dialog = (page: Page) => page.getByRole('dialog');
const panel = (page: Page) => page.getByRole('region', { name: 'Rollout' });

/** An assistant whose draft differs from version 1. */
async function withDraft({ house }: Console, name: string, model: object = {}) {
  const scripted = { provider: 'scripted', name: 'scripted' };
  const { id } = await house.assistant({ name, greeting: 'One', model: scripted });
  const path = `/workspaces/${house.workspaceId}/assistants/${id}`;
  await house.console(path, { method: 'PATCH', body: { greeting: 'Two', model } });
  return { id, path };
}

async function rolledOut(t: Test, page: Page, console: Console, complaints: string[]): Promise<void> {
  const { url, house } = console;
  const { id, path } = await withDraft(console, 'rolled out');
  await page.goto(url(house.workspaceId, 'assistants', id, 'versions'));
  await button(page, 'Start rollout').click();
  t.equal(await dialog(page).getByLabel('Version', { exact: true }).inputValue(), 'draft');
  t.same(await findings(page, 'not contrast'), []);
  await dialog(page).getByLabel('Percent of new sessions').fill('25');
  await dialog(page).getByLabel('Max failed turns, percent').fill('20');
  // Another person changes the draft meanwhile.
  await house.console(path, { method: 'PATCH', body: { max_call_seconds: 120 } });
  await dialog(page).getByRole('button', { name: 'Start rollout' }).click();
  await dialog(page).getByText('start again to roll it out as it is now').waitFor();
  t.equal((await house.console(path)).json.candidate, null);
  await dialog(page).getByRole('button', { name: 'Start rollout' }).click();
  await panel(page).getByText('25 % of new sessions get it.').waitFor();
  await panel(page).getByText('once 50 turns have ended and more than 20 % of them failed').waitFor();
  t.match((await house.console(path)).json.candidate, {
    version: 2,
    percent: 25,
    halt: { failed_percent: 20, after_turns: 50 },
  });
  complaints.splice(0, complaints.length, ...complaints.filter((one) => !one.includes('status of 409')));
  t.equal(await button(page, 'Start rollout').count(), 0);

  await button(page, 'Change').click();
  t.equal(await dialog(page).getByLabel('Percent of new sessions').inputValue(), '25');
  await dialog(page).getByLabel('Percent of new sessions').fill('99');
  await dialog(page).getByLabel('Halt by itself').uncheck();
  await dialog(page).getByRole('button', { name: 'Save' }).click();
  await panel(page).getByText('99 % of new sessions get it. Nothing halts it.').waitFor();
  for (let times = 0; times < 5; times++) {
    const session = await house.session(id);
    await (await house.stream(`/sessions/${session.id}/chat`, { body: { message: 'Hello' } })).rest();
  }
  await panel(page)
    .getByText(/0 of [1-5] turns? failed \(0 %\)/)
    .waitFor();
  t.match(await panel(page).getByRole('row').nth(1).textContent(), /^2 candidate[1-5][1-5]0/);
  t.same(await findings(page), []);
  await page.goto(url(house.workspaceId, 'assistants', id));
  await page.getByRole('region', { name: 'Release' }).getByText('Version 2 goes to 99 % of new sessions.').waitFor();
  await page.goBack();
  await button(page, 'Promote').click();
  await dialog(page).getByText('All new sessions get version 2 instead of 99 % of them.').waitFor();
  await dialog(page).getByRole('button', { name: 'Promote' }).click();
  await panel(page).waitFor({ state: 'detached' });
  await page.getByRole('row').filter({ hasText: 'Version 2' }).getByText('current').waitFor();
  t.match((await house.console(path)).json, { version: 2, candidate: null });
}

/** Ends turns on the candidate until the rollout is halted. */
async function failUntilHalted({ house }: Console, id: string, path: string): Promise<void> {
  for (let times = 0; times < 40; times++) {
    const session = await house.session(id);
    await (await house.stream(`/sessions/${session.id}/chat`, { body: { message: 'Hello' } })).rest();
    if ((await house.console(path)).json.candidate.state === 'halted') return;
  }
}

async function halted(t: Test, page: Page, console: Console): Promise<void> {
  const { url, house } = console;
  const failing = { provider: 'synthetic', name: 'tokens=4,fail_at=2' };
  const { id, path } = await withDraft(console, 'halted', failing);
  const halt = { failed_percent: 10, after_turns: 10 };
  await house.console(`${path}/rollout`, { body: { version: 'draft', percent: 99, halt } });
  await page.goto(url(house.workspaceId, 'assistants', id, 'versions'));
  await panel(page).getByText('99 % of new sessions get it.').waitFor();
  await failUntilHalted(console, id, path);
  await panel(page).getByText('Halted: 10 of 10 turns failed (100 %)').waitFor();
  t.match(
    await panel(page).getByRole('status').textContent(),
    /more than the 10 % that were allowed after 10 turns\. No new session gets it; its open sessions move to version 1/,
  );
  t.same(await findings(page), []);
  await button(page, 'Roll out again').click();
  await dialog(page).getByRole('button', { name: 'Roll out again' }).click();
  await panel(page).getByText('Since it began, no turn has ended.').waitFor();
  await button(page, 'End rollout').click();
  await dialog(page).getByText('Sessions that are on version 2 move to version 1').waitFor();
  await dialog(page).getByRole('button', { name: 'End rollout' }).click();
  await panel(page).waitFor({ state: 'detached' });
  t.match((await house.console(path)).json, { version: 1, candidate: null });

  await page.goto(url(house.workspaceId, 'assistants', id, 'versions', '2'));
  await page.locator('.facts').getByText('10 of 10 turns failed (100 %)').waitFor();
  await button(page, 'Roll out').click();
  await dialog(page).getByLabel('Percent of new sessions').fill('5');
  await dialog(page).getByRole('button', { name: 'Start rollout' }).click();
  await panel(page).getByText('5 % of new sessions get it.').waitFor();
}

async function recalled(t: Test, page: Page, console: Console): Promise<void> {
  const { url, house } = console;
  const { id, path } = await withDraft(console, 'recalled');
  const session = await house.session(id);
  const chat = async (message: string) =>
    (await house.stream(`/sessions/${session.id}/chat`, { body: { message } })).rest();
  await chat('Before');
  await house.console(`${path}/publish`, { method: 'POST' });
  await chat('Pinned');
  await page.goto(url(house.workspaceId, 'assistants', id, 'versions'));
  await button(page, 'Move open sessions').click();
  await dialog(page).getByText('Every open session gets version 2 at its next turn').waitFor();
  await dialog(page).getByRole('button', { name: 'Move open sessions' }).click();
  await dialog(page).waitFor({ state: 'detached' });
  await chat('Moved');
  await page.goto(url(house.workspaceId, 'sessions', session.id));
  await page.getByRole('article', { name: 'Assistant' }).getByText('From here on version 2 answers.').waitFor();
  t.equal(await page.getByText('From here on').count(), 1);

  await page.goto(url(house.workspaceId, 'assistants', id, 'versions', '1'));
  await button(page, 'Roll back to it').click();
  await dialog(page).getByLabel('Move open conversations too').check();
  await dialog(page).getByRole('button', { name: 'Roll back' }).click();
  await dialog(page).waitFor({ state: 'detached' });
  await chat('Back');
  t.equal((await house.ask(`/sessions/${session.id}`)).json.assistant_version, 1);

  await page.goto(url(house.workspaceId, 'assistants', id));
  await settled(page);
  await page.getByLabel('Open sessions after a release').selectOption('follow');
  await button(page, 'Save').click();
  await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
  t.equal((await house.console(path)).json.session_policy, 'follow');
  await button(page, 'Publish').click();
  await dialog(page).getByText('Open conversations take it at their next turn.').waitFor();
  await dialog(page).getByRole('button', { name: 'Cancel' }).click();
}

async function refused(t: Test, page: Page, console: Console): Promise<void> {
  const { url, house } = console;
  const { id, path } = await withDraft(console, 'not rolled out');
  await page.goto(url(house.workspaceId, 'assistants', id, 'versions'));
  await button(page, 'Start rollout').click();
  for (const [label, wrong, right] of [
    ['Percent of new sessions', '100', '10'],
    ['From this many turns on', '9', '10'],
  ] as const) {
    await dialog(page).getByLabel(label).fill(wrong);
    await dialog(page).getByRole('button', { name: 'Start rollout' }).click();
    t.ok(
      await dialog(page)
        .getByLabel(label)
        .evaluate((field) => field.matches(':invalid:focus')),
      label,
    );
    await dialog(page).getByLabel(label).fill(right);
  }
  t.equal((await house.console(path)).json.candidate, null);
}

async function viewed(t: Test, _page: Page, console: Console): Promise<void> {
  const { house } = console;
  const { id, path } = await withDraft(console, 'viewed');
  await house.console(`${path}/rollout`, { body: { version: 'draft', percent: 10 } });
  const { json } = await house.console('/sign-in-links', { body: { name: 'Rollout viewer', role: 'viewer' } });
  const { page, context, complaints } = await signedIn(console, json.url);
  complaints.length = 0;
  await page.setViewportSize({ width: 360, height: 900 });
  await page.goto(`${house.url}/console/${house.workspaceId}/assistants/${id}/versions`);
  await panel(page).getByText('10 % of new sessions get it.').waitFor();
  t.same(await page.locator('main button:visible').allTextContents(), []);
  t.same(await findings(page), []);
  t.same(complaints, []);
  await context.close();
}
