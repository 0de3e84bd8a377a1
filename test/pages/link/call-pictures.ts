/**
 * The pictures of a call: for docs/call.md and the README the link's page while the assistant speaks, and the bar in
 * each state.
 */
import { mkdirSync } from 'node:fs';
import { openHouse } from '../../api/house.ts';
import { openBrowser } from '../../browser.ts';
import type { Owner } from '../../folders.ts';
import { phraseFor } from '../../phrase.ts';
import { openStandIn } from '../console/stand-in.ts';
import { openLink } from './browser.ts';
import { barsOf, onLink, onTrial, onWidget, sheetOf, type Called } from './call-sheets.ts';
import { openSites } from './sites.ts';

const pictures = [
  { name: 'bar', options: { width: 720, height: 400 } },
  { name: 'phone', options: { width: 360, height: 640, colorScheme: 'dark' } },
] as const;

const switches = (clip: string): string[] => [
  '--use-fake-ui-for-media-stream',
  '--use-fake-device-for-media-stream',
  `--use-file-for-fake-audio-capture=${clip}%noloop`,
];
const looks = [
  { colorScheme: 'light', ground: '#fafaf8' },
  { colorScheme: 'dark', ground: '#141416' },
] as const;

const unlimited = {
  minutes_per_day: null,
  concurrent_visitors: null,
  messages_per_visitor_per_day: null,
  messages_per_address_per_hour: null,
};
const voice = { provider: 'synthetic', name: 'character_ms=60', transcription_name: 'texts=What_can_you_do?' };
const shop = {
  name: 'Corner shop',
  greeting: 'Good day! What can I do for you?',
  model: { provider: 'scripted', name: 'demo' },
  voice,
};

/** Returns the names of the files, without the folder. */
export async function takeCallPictures(t: Owner, folder: string): Promise<string[]> {
  // Loudness alone is taken for speech without voice processes.
  const house = await openHouse(t, { env: { PARLEY_SYNTHETIC: '1', PARLEY_VOICE_PROCESSES: '0' } });
  await house.assistant({
    ...shop,
    channels: { voice: true, link: true, widget: false },
    link: { slug: 'shop', limits: unlimited, origins: [] },
  });
  const browser = await openBrowser(t, ...switches(await phraseFor(t, { beforeMs: 4_000 })));
  mkdirSync(folder, { recursive: true });
  for (const { name, options } of pictures) {
    const { page, complaints, context } = await openLink(browser, `${house.url}/p/shop`, options);
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    // Some words into the reply.
    await page
      .locator('#messages li.assistant')
      .nth(1)
      .filter({ hasText: /(\S+\s+){9}/ })
      .waitFor();
    if (complaints.length > 0) throw new Error(complaints.join('\n'));
    await page.screenshot({ path: `${folder}${name}.png` });
    await context.close();
  }
  const columns = [];
  for (const { colorScheme, ground } of looks)
    columns.push({ ground, pictures: await taken(await onLink(browser, house, 'shop', { width: 420, colorScheme })) });
  await sheetOf(browser, columns, `${folder}states.png`);
  return [...pictures.map(({ name }) => name), 'states'].map((name) => `${name}.png`);
}

/** Sheets for the eye alone: the bar in each state on every page that has one, wide and narrow, light and dark. */
export async function takeCallSheets(t: Owner, folder: string): Promise<string[]> {
  const house = await openHouse(t, { env: { PARLEY_SYNTHETIC: '1', PARLEY_VOICE_PROCESSES: '0' } });
  const args = switches(await phraseFor(t, { beforeMs: 4_000 }));
  const sites = await openSites(t, house, ...args);
  const standIn = await openStandIn(t, house);
  const { id } = await house.assistant({
    ...shop,
    channels: { voice: true, link: true, widget: true },
    link: { slug: 'shop', limits: unlimited, origins: [sites.origin] },
  });
  sites.put('/', { tags: ['data-slug="shop"'] });
  const browser = await openBrowser(t, ...args);
  const trial = `${standIn.url}/console/${house.workspaceId}/assistants/${id}`;
  mkdirSync(folder, { recursive: true });
  const names: string[] = [];
  // Four trials may run at a time.
  for (const width of [360, 1280]) {
    const places: Readonly<
      Record<string, (look: { width: number; colorScheme: 'light' | 'dark' }) => Promise<Called>>
    > = {
      link: (look) => onLink(browser, house, 'shop', look),
      widget: (look) => onWidget(sites, 'shop', look),
      trial: (look) => onTrial(browser, trial, look),
    };
    for (const [place, open] of Object.entries(places)) {
      const columns = [];
      for (const { colorScheme, ground } of looks)
        columns.push({ ground, pictures: await taken(await open({ width, colorScheme })) });
      names.push(`call-${place}-${width}.png`);
      await sheetOf(browser, columns, `${folder}${names.at(-1)}`);
    }
  }
  return names;
}

async function taken(called: Called): Promise<Buffer[]> {
  const bars = await barsOf(called);
  await called.close();
  return bars;
}
