/** The pictures of the desk in the console: nobody waits, several wait, a conversation that is answered, on a phone. */
import type { Page } from 'playwright-core';
import { say, synthetic } from '../../api/talk.ts';
import type { Console } from './console.ts';
import type { Picture } from './picture.ts';

/** Pictures to take in this order: each finds the desk as the one before has left it. */
export const deskPictures = (workspace: string): readonly Picture[] => [
  { name: 'desk-empty', colorScheme: 'light', height: 420, path: [workspace, 'desk'], set: nobody },
  { name: 'desk', colorScheme: 'light', height: 520, path: [workspace, 'desk'], set: several },
  { name: 'desk-reply', colorScheme: 'dark', path: [workspace, 'desk'], set: aReply },
  { name: 'desk-phone', colorScheme: 'light', width: 360, path: [workspace, 'desk'], set: onPhone },
];

const nobody = (page: Page): Promise<void> => page.getByRole('heading', { name: 'Nobody waits' }).waitFor();

const asked = [
  ['Where is order 1007?', 'A parcel that does not arrive'],
  ['I was charged twice.', 'A refund'],
  ['Do you deliver to Jersey?', 'Delivery abroad'],
] as const;

async function several(page: Page, { house }: Console): Promise<void> {
  const { id } = await synthetic(house, 'tokens=2,text=sorry', {
    name: 'Corner shop',
    desk: { enabled: true, wait_seconds: 3600 },
  });
  for (const [message, reason] of asked) {
    const session = await house.session(id);
    await (await say(house, session.id, message)).rest();
    await house.ask(`/sessions/${session.id}/ask`, { body: { reason } });
    await page.getByRole('link', { name: reason }).waitFor();
  }
}

async function aReply(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Take the next one' }).click();
  const desk = page.getByRole('region', { name: 'Desk' });
  await desk.getByText('You have this conversation.').waitFor();
  const reply = desk.getByLabel('Message to the visitor');
  await reply.fill('Hello, I have found your parcel.');
  await reply.press('Enter');
  await page.getByRole('region', { name: 'Transcript' }).getByText('I have found your parcel.').waitFor();
  await reply.fill('It will be with you on Monday. Shall I');
}

async function onPhone(page: Page): Promise<void> {
  await page.getByRole('link', { name: asked[0][1] }).click();
  await page.getByRole('region', { name: 'Desk' }).getByText('You have this conversation.').waitFor();
}
