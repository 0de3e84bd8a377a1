/** The desk in the console: a waiting session is taken, answered, left to the next person and given back. */
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import { assistantPath, operate, say, sessionOf, synthetic, transcriptOf, until } from '../../api/talk.ts';
import { findings, settled, within, type Console } from './console.ts';

export async function theDesk(t: Test, console: Console): Promise<void> {
  await within(t, console, 'a session that waits is taken, answered, left and returned', attended);
  await within(t, console, 'keys open the next conversation, take it, reply and give it back', withKeys);
  await within(t, console, 'the desk of an assistant is set in its form', setDesk);
}

async function attended(t: Test, page: Page, console: Console): Promise<void> {
  const { house } = console;
  await page.goto(console.url(house.workspaceId, 'desk'));
  await page.getByRole('heading', { name: 'Nobody waits' }).waitFor();
  t.same(await findings(page), []);
  const assistant = await synthetic(house, 'tokens=2', { desk: { enabled: true } });
  const { id } = await house.session(assistant.id);
  await (await say(house, id, 'I need help')).rest();
  await house.ask(`/sessions/${id}/ask`, { body: { reason: 'A refund' } });
  await page.getByRole('table', { name: 'Sessions at the desk' }).getByRole('link', { name: 'A refund' }).waitFor();
  await page.waitForFunction("document.title.startsWith('(1) Desk')");
  t.same(await findings(page), []);
  await page.getByRole('button', { name: 'Take the next one' }).click();
  const desk = page.getByRole('region', { name: 'Desk' });
  await desk.getByText('You have this conversation.').waitFor();
  const reply = desk.getByLabel('Message to the visitor');
  await reply.fill('Which order is it?');
  await reply.press('Enter');
  const transcript = page.getByRole('region', { name: 'Transcript' });
  await transcript.getByText('Which order is it?').waitFor();
  t.equal(await reply.inputValue(), '');
  await (await say(house, id, 'Number 17')).rest();
  await transcript.getByText('Number 17').waitFor();
  t.same(await findings(page), []);
  await reply.fill('A draft');
  await page.getByRole('link', { name: 'Desk' }).click();
  await page.getByRole('table', { name: 'Sessions at the desk' }).getByRole('link', { name: 'A refund' }).click();
  t.equal(await reply.inputValue(), 'A draft', 'a text that was not sent is kept');
  await desk.getByRole('button', { name: 'Leave to another person' }).click();
  await desk.getByText('The visitor waits for a person.').waitFor();
  await desk.getByRole('button', { name: 'Take the conversation' }).click();
  await desk.getByRole('button', { name: 'Return to the assistant' }).click();
  await desk.getByText('The assistant answers.').waitFor();
  await until(async () => (await house.ask(`/sessions/${id}`)).json.attendance.state === 'assistant');
  t.same(
    (await transcriptOf(house, id)).filter(({ role }) => role === 'person').map(({ content }) => content),
    ['Which order is it?'],
  );
}

/** A session that waits for a person, with the reason. */
async function waiting({ house }: Console, assistant: string, reason: string): Promise<string> {
  const { id } = await house.session(assistant);
  await house.ask(`/sessions/${id}/ask`, { body: { reason } });
  return id;
}

async function withKeys(t: Test, page: Page, console: Console): Promise<void> {
  const { house } = console;
  const assistant = await synthetic(house, 'tokens=2', { desk: { enabled: true, wait_seconds: 3600 } });
  const [first, second] = [await waiting(console, assistant.id, 'One'), await waiting(console, assistant.id, 'Two')];
  const state = async (id: string) => (await sessionOf(house, id)).attendance.state;
  await page.goto(console.url(house.workspaceId, 'desk'));
  await page.getByRole('link', { name: 'Two' }).waitFor();
  await page.getByText('Keyboard shortcuts').click();
  await page.getByText('Take: the conversation that is open').waitFor();
  t.same(await findings(page), []);
  await page.keyboard.press('n');
  await page.waitForURL(console.url(house.workspaceId, 'sessions', first));
  const desk = page.getByRole('region', { name: 'Desk' });
  await desk.getByText('The visitor waits for a person.').waitFor();
  await page.keyboard.press('t');
  await desk.getByText('You have this conversation.').waitFor();
  await page.keyboard.press('r');
  const reply = desk.getByLabel('Message to the visitor');
  await page.keyboard.type('by not n');
  t.equal(await reply.inputValue(), 'by not n', 'letters that are typed are no shortcuts');
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Transcript' }).getByText('by not n').waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('b');
  await desk.getByText('The assistant answers.').waitFor();
  t.equal(await state(first), 'assistant');
  await page.keyboard.press('n');
  await page.waitForURL(console.url(house.workspaceId, 'sessions', second));
  await desk.getByText('The visitor waits for a person.').waitFor();
  await page.keyboard.press('n');
  await desk.getByText('Nobody else waits.').waitFor();
  await desk.getByText('Keyboard shortcuts').click();
  await desk.getByRole('button', { name: 'Shortcuts on' }).click();
  await desk.getByRole('button', { name: 'Shortcuts off' }).waitFor();
  await page.keyboard.press('t');
  t.equal(await state(second), 'waiting', 'shortcuts can be turned off');
  await page.reload();
  await desk.getByText('Keyboard shortcuts').click();
  await desk.getByRole('button', { name: 'Shortcuts off' }).click();
  await desk.getByRole('button', { name: 'Shortcuts on' }).waitFor();
  await house.ask(`/sessions/${second}/end`, { method: 'POST' });
}

async function setDesk(t: Test, page: Page, { url, house }: Console, complaints: string[]): Promise<void> {
  const { id } = await synthetic(house, 'tokens=1');
  await page.goto(url(house.workspaceId, 'assistants', `${id}?section=desk`));
  await settled(page);
  const stored = async () => (await operate(house, 'GET', assistantPath(house, id))).desk;
  const save = page.getByRole('button', { name: 'Save', exact: true });
  await page.getByLabel('Visitors can ask for a person').check();
  await page.getByLabel('Max wait').fill('5 min');
  await page.getByLabel('While a visitor waits').selectOption('silent');
  await page.getByLabel('Note when a person joins').fill('{{person.name}} is here, {{visitor.nobody}}.');
  await save.click();
  await page.locator('[name="desk.texts.joined"][aria-invalid="true"]:focus').waitFor();
  complaints.splice(0, complaints.length, ...complaints.filter((one) => !one.includes('status of 422')));
  t.same(await findings(page), []);
  await page.getByLabel('Note when a person joins').fill('{{person.name}} is here.');
  await save.click();
  await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
  const texts = { waiting: null, joined: '{{person.name}} is here.', left: null, nobody: null };
  t.same(await stored(), { enabled: true, wait_seconds: 300, while_waiting: 'silent', texts });
  await page.getByLabel('Note when a person joins').fill('');
  await page.getByLabel('Max wait').fill('1 h');
  await save.click();
  await page.getByText('Not saved yet.').waitFor({ state: 'detached' });
  t.match(await stored(), { enabled: true, wait_seconds: 3600, texts: { joined: null } });
}
