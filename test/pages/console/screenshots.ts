/**
 * `npm run screenshots`: the pictures of the documents, of pages as they are; `-- NAME…`: those with these names alone.
 * `-- --look FOLDER`: the call bar in each state on every page that has one, wide and narrow, light and dark, for the
 * eye alone.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { whyNoBrowser } from '../../browser.ts';
import type { Owner } from '../../folders.ts';
import { takeCallPictures, takeCallSheets } from '../link/call-pictures.ts';
import { takeDeskSheets } from '../link/desk-pictures.ts';
import { takePictures } from '../link/pictures.ts';
import { takeWidgetPictures } from '../link/widget-pictures.ts';
import { takeClientPicture } from './client-picture.ts';
import { furnish, openConsole, type Console, type Furnished } from './console.ts';
import { deskPictures } from './desk-pictures.ts';
import { takeLanePicture } from './lane-picture.ts';
import { take, type Picture } from './picture.ts';
import { takeReplayPicture } from './replays.ts';
import { teamPictures } from './team-pictures.ts';
import { newTool, openTool } from './tools.ts';
import { takeTurnPicture } from './turn-pictures.ts';

const folder = fileURLToPath(new URL('../../../docs/console/', import.meta.url));

const picturesOf = (workspace: string, { session, ended, assistant, key }: Furnished): readonly Picture[] => [
  { name: 'live', colorScheme: 'light', path: [workspace, 'live'], set: somethingHappens },
  { name: 'session', colorScheme: 'light', path: [workspace, 'live', 'session', session.id] },
  { name: 'past', colorScheme: 'dark', path: [workspace, 'live', 'session', ended.id], set: twoStepsBack },
  { name: 'assistant', colorScheme: 'light', path: [workspace, 'assistants', assistant.id], set: aTrial },
  { name: 'link', colorScheme: 'light', path: [workspace, 'assistants', `${assistant.id}?section=link`], set: theLink },
  { name: 'key', colorScheme: 'dark', path: [workspace, 'keys', key.id] },
  { name: 'sessions', colorScheme: 'light', path: [workspace, 'sessions'] },
  { name: 'phone', colorScheme: 'light', width: 390, path: [workspace, 'sessions', ended.id] },
];

/** A conversation of another visitor while the page is open. */
async function somethingHappens(page: Page, { house }: Console): Promise<void> {
  const assistant = (await house.console(`/workspaces/${house.workspaceId}/assistants`)).json.data.find(
    ({ name }: { name: string }) => name === 'opening hours',
  );
  const one = await house.session(assistant.id);
  for (const message of ['Hello', 'My name is Ada.'])
    await (await house.stream(`/sessions/${one.id}/chat`, { body: { message } })).rest();
  await page.locator('.happened li').nth(3).waitFor();
}

async function twoStepsBack(page: Page): Promise<void> {
  await page.getByRole('slider').focus();
  for (let presses = 0; presses < 2; presses++) await page.keyboard.press('ArrowLeft');
  await page.getByLabel('Simulate event').selectOption({ label: 'chat' });
}

async function aTrial(page: Page): Promise<void> {
  await page.getByLabel('Message', { exact: true }).fill('Count to 7');
  await page.keyboard.press('Enter');
  await page.getByRole('article', { name: 'Assistant' }).getByText('5, 6, 7.').waitFor();
  await page.locator('.beside .row.lit').waitFor();
}

/** The link in use. */
async function theLink(page: Page): Promise<void> {
  await page.getByText('1 present').waitFor();
}

/** A tool that is tested, and a turn while it calls one that does not answer. */
async function toolPictures(owner: Owner, house: Console['house']): Promise<readonly Picture[]> {
  const { id } = await newTool(house, { url: await openTool(owner) });
  const slow = await newTool(house, { name: 'Stock', url: await openTool(owner, 'silent') });
  const assistant = await house.assistant({
    name: 'stock',
    model: { provider: 'synthetic', name: 'call=look_up_order,calls=2' },
    tool_ids: [slow.id],
  });
  const session = (await house.session(assistant.id)).id;
  const { turnId } = await house.stream(`/sessions/${session}/chat`, { body: { message: 'Is it there?' } });
  return [
    {
      name: 'tool',
      colorScheme: 'light',
      width: 1280,
      height: 620,
      path: [house.workspaceId, 'tools', id],
      set: aTestCall,
    },
    {
      name: 'calling',
      colorScheme: 'light',
      width: 1000,
      height: 430,
      path: [house.workspaceId, 'live', 'turn', `${turnId}?session=${session}`],
      set: whileItCalls,
    },
  ];
}

async function aTestCall(page: Page): Promise<void> {
  await page.getByLabel('Arguments', { exact: true }).fill('{ "order": "1007" }');
  await page.getByRole('button', { name: 'Send the call' }).click();
  await page.getByText('shipped').waitFor();
  await page.evaluate('scrollTo(0, 0)');
}

async function whileItCalls(page: Page): Promise<void> {
  const state = page.locator('.state[data-state="calling"][aria-current="true"]');
  await state.waitFor();
  await state.evaluate((card) => card.scrollIntoView({ block: 'start' }));
}

const named = process.argv.slice(2);
const look = named[0] === '--look' ? (named[1] ?? '') : null;

if (whyNoBrowser) {
  process.stderr.write(`${whyNoBrowser}.\n`);
  process.exit(1);
}
const endings: (() => unknown)[] = [];
const owner: Owner = { teardown: (end) => void endings.push(end) };
/** Closes what was opened. */
async function leave(): Promise<never> {
  for (const end of endings.reverse()) await end();
  process.exit(0);
}
if (look !== null) {
  for (const name of await takeCallSheets(owner, join(look, '/'))) process.stdout.write(`${join(look, name)}\n`);
  await leave();
}
const console = await openConsole(owner);
const furnished = await furnish(console.house);
mkdirSync(folder, { recursive: true });
const isWanted = (name: string): boolean => named.length === 0 || named.includes(name);
for (const picture of [
  ...picturesOf(console.house.workspaceId, furnished),
  ...(await toolPictures(owner, console.house)),
  ...deskPictures(console.house.workspaceId),
  ...(await teamPictures(owner, console.house)),
]) {
  if (!isWanted(picture.name)) continue;
  const complaints = await take(console, picture, `${folder}${picture.name}.png`);
  process.stdout.write(
    `docs/console/${picture.name}.png${complaints.length > 0 ? ` (${complaints.join('; ')})` : ''}\n`,
  );
}
for (const [name, take] of [
  ['turns', (file: string) => takeTurnPicture(console, file)],
  ['lane', (file: string) => takeLanePicture(owner, file)],
  ['client', (file: string) => takeClientPicture(console, file)],
  ['replay', (file: string) => takeReplayPicture(owner, console, file)],
] as const) {
  if (!isWanted(name)) continue;
  await take(`${folder}${name}.png`);
  process.stdout.write(`docs/console/${name}.png\n`);
}
const linkFolder = fileURLToPath(new URL('../../../docs/link/', import.meta.url));
for (const name of await takePictures(console.house, console.browser, linkFolder, named))
  process.stdout.write(`docs/link/${name}\n`);
const widgetFolder = fileURLToPath(new URL('../../../docs/widget/', import.meta.url));
if (isWanted('widget'))
  for (const name of await takeWidgetPictures(owner, console.house, widgetFolder))
    process.stdout.write(`docs/widget/${name}\n`);
if (isWanted('desk-sheets')) {
  await takeDeskSheets(owner, console.house, { link: linkFolder, widget: widgetFolder });
  process.stdout.write('docs/link/desk.png\ndocs/widget/desk.png\n');
}
const callFolder = fileURLToPath(new URL('../../../docs/call/', import.meta.url));
if (isWanted('call'))
  for (const name of await takeCallPictures(owner, callFolder)) process.stdout.write(`docs/call/${name}\n`);
await leave();
