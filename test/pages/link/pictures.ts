/** Pictures of the link's page, for `npm run screenshots`: a conversation with the embedded assistant. */
import { mkdirSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import type { House } from '../../api/house.ts';
import { until } from '../../api/talk.ts';
import { openLink, quiet, replies, say } from './browser.ts';

const pictures = [
  { name: 'page', slug: 'shop', options: { width: 1440, height: 800 }, messages: ['What is 12 plus 30?', 'How do I get started?'] },
  { name: 'phone', slug: 'shop', options: { width: 390, height: 760, colorScheme: 'dark' }, messages: ['What is 6 times 7?'] },
  { name: 'fields', slug: 'orders', options: { width: 390, height: 760, locale: 'de' }, messages: [] },
] as const;

/** Returns the names of the files, without the folder. */
export async function takePictures(house: House, browser: Browser, folder: string): Promise<string[]> {
  const common = { greeting: 'Good day! What can I do for you?', model: { provider: 'scripted', name: 'demo' }, description: 'Questions about opening hours, orders and returns.' };
  await house.assistant({ ...common, name: 'Corner shop', channels: { voice: true, link: true, widget: false }, link: { slug: 'shop', limits: {}, origins: [] } });
  const fields = [{ name: 'name', label: 'Name', type: 'text', required: true }, { name: 'email', label: 'E-Mail', type: 'email', required: true }, { name: 'order', label: 'Bestellnummer', type: 'number', required: false }];
  await house.assistant({ ...common, greeting: 'Guten Tag!', description: 'Fragen zu Bestellungen.', name: 'Eckladen', visitor_fields: fields, channels: { voice: false, link: true, widget: false }, link: { slug: 'orders', limits: {}, origins: [] } });
  mkdirSync(folder, { recursive: true });
  for (const { name, slug, options, messages } of pictures) {
    const { page, complaints, context } = await openLink(browser, `${house.url}/p/${slug}`, options);
    await replies(page).waitFor();
    for (const [index, message] of messages.entries()) {
      await say(page, message);
      await until(async () => (await replies(page).count()) === index + 2);
      await quiet(page);
    }
    if (complaints.length > 0) throw new Error(complaints.join('\n'));
    await page.screenshot({ path: `${folder}${name}.png` });
    await context.close();
  }
  return pictures.map(({ name }) => `${name}.png`);
}
