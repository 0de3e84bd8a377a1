/** The desk in the console: a waiting session is taken, answered, left to the next person and given back. */
import type { Test } from 'tap';
import type { Page } from 'playwright-core';
import { say, synthetic, transcriptOf, until } from '../../api/talk.ts';
import { findings, within, type Console } from './console.ts';

export async function theDesk(t: Test, console: Console): Promise<void> {
  await within(t, console, 'a session that waits is taken, answered, left and returned', attended);
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
