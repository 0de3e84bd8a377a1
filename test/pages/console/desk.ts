/** The desk in the console: a waiting session is taken, answered, left to the next person and given back. */
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import { assistantPath, operate, say, sessionOf, synthetic, transcriptOf, until } from '../../api/talk.ts';
import { overflow } from '../../browser.ts';
import { findings, settled, within, type Console } from './console.ts';

export async function theDesk(t: Test, console: Console): Promise<void> {
  await within(t, console, 'a session that waits is taken, answered, left and returned', attended);
  await within(t, console, 'keys open the next conversation, take it, reply and give it back', withKeys);
  await within(t, console, 'a visitor who begins to wait is heard, unless the sound is off', sounds);
  await within(t, console, 'a person takes and answers a session on a phone', onPhone);
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

/** Counts the notes that the page plays from now on, in `notes`. */
const countNotes = (page: Page): Promise<void> =>
  page.evaluate(
    `(() => { window.notes = 0; const { start } = OscillatorNode.prototype; OscillatorNode.prototype.start = function (...at) { notes++; return start.apply(this, at); }; })()`,
  );

async function sounds(t: Test, page: Page, console: Console): Promise<void> {
  const { house, url } = console;
  const { id } = await synthetic(house, 'tokens=2', { desk: { enabled: true, wait_seconds: 3600 } });
  const notes = () => page.evaluate<number>('notes');
  await page.goto(url(house.workspaceId, 'desk'));
  await page.getByRole('heading', { name: 'Nobody waits' }).waitFor();
  await countNotes(page);
  const first = await waiting(console, id, 'A chair');
  t.teardown(() => house.ask(`/sessions/${first}/end`, { method: 'POST' }));
  await page.getByRole('link', { name: 'A chair' }).waitFor();
  await until(async () => (await notes()) > 0);
  t.equal(await notes(), 2, 'two notes for the visitor');
  await page.getByRole('button', { name: 'Sound on' }).click();
  await page.getByRole('button', { name: 'Sound off', pressed: false }).waitFor();
  await page.reload();
  await page.getByRole('link', { name: 'A chair' }).waitFor();
  await countNotes(page);
  const second = await waiting(console, id, 'A table');
  t.teardown(() => house.ask(`/sessions/${second}/end`, { method: 'POST' }));
  await page.getByRole('link', { name: 'A table' }).waitFor();
  await page.getByRole('button', { name: 'Sound off' }).click();
  await page.getByRole('button', { name: 'Sound on', pressed: true }).waitFor();
  await until(async () => (await notes()) > 0);
  t.equal(await notes(), 2, 'off after a reload as well: only the switch itself is heard');
}

async function onPhone(t: Test, page: Page, console: Console): Promise<void> {
  const { house, url } = console;
  const [width, height] = [360, 640];
  const fits = async (place: string) => {
    t.ok(Number(await page.evaluate(overflow)) <= 0, `${place} fits ${width} px`);
    t.same(await findings(page), [], place);
  };
  const { id } = await synthetic(house, 'tokens=60', { desk: { enabled: true, wait_seconds: 3600 } });
  const { id: session } = await house.session(id);
  for (const message of ['Hello', 'My table has not come'.padEnd(300, '!')])
    await (await say(house, session, message)).rest();
  await house.ask(`/sessions/${session}/ask`, { body: { reason: `Order ${'1007'.repeat(40)}` } });
  const before = page.viewportSize()!;
  t.teardown(async () => {
    await house.ask(`/sessions/${session}/end`, { method: 'POST' });
    await page.setViewportSize(before);
  });
  await page.setViewportSize({ width, height });
  await page.goto(url(house.workspaceId, 'desk'));
  await page.getByRole('link', { name: 'Order 1007' }).waitFor();
  await fits('the desk');
  await page.getByRole('button', { name: 'Take the next one' }).click();
  const desk = page.getByRole('region', { name: 'Desk' });
  const reply = desk.getByLabel('Message to the visitor');
  await reply.waitFor();
  await page.getByRole('region', { name: 'Transcript' }).getByText('My table').waitFor();
  await fits('the session');
  await page.evaluate('scrollTo(0, 0)');
  for (const [name, control] of [
    ['the reply field', reply],
    ['its button', desk.getByRole('button', { name: 'Send' })],
  ] as const) {
    const box = (await control.boundingBox())!;
    t.ok(box.x >= 0 && box.x + box.width <= width, `${name} is within the width`);
    t.ok(box.y >= 0 && box.y + box.height <= height, `${name} is in sight from the top of the page on`);
  }
  await reply.fill('It comes on Monday.');
  await desk.getByRole('button', { name: 'Send' }).click();
  await page.getByRole('region', { name: 'Transcript' }).getByText('It comes on Monday.').waitFor();
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
