/** The pictures of docs/widget.md: the widget on a site as there are many, open, wide and on a phone. */
import { mkdirSync } from 'node:fs';
import type { BrowserContextOptions } from 'playwright-core';
import type { House } from '../../api/house.ts';
import type { Owner } from '../../folders.ts';
import { frameOf, launcherOf, openSites, phone, say } from './sites.ts';

const style = `<style>
:root { color-scheme: light; } body { margin: 0; background: #f3ede3; color: #2c2118; font: 17px/1.6 Georgia, serif; }
main { max-width: 720px; padding: 8px 40px; } h1 { font-size: 34px; line-height: 1.2; } li { margin: 6px 0; }
@media (max-width: 500px) { main { padding: 0 20px; } }
</style>`;
const body = `<p>Bread from our own oven, six days a week. Order until four in the afternoon and fetch it warm the next morning.</p>
<h2>This week</h2><ul><li>Rye with caraway, 1 kg: 4.50</li><li>Wheat sourdough, 750 g: 5.20</li><li>Spelt rolls, six: 3.60</li><li>Butter plait, Saturdays: 4.80</li></ul>
<h2>Where we are</h2><p>Mill Lane 4, beside the old bridge. Open from seven to one, on Saturdays from six to twelve.</p>`;

interface Picture {
  readonly name: string;
  readonly options: BrowserContextOptions;
}

const pictures: readonly Picture[] = [
  { name: 'open', options: { viewport: { width: 1280, height: 800 }, colorScheme: 'light' } },
  { name: 'phone', options: { ...phone, colorScheme: 'dark' } },
];

/** Takes the pictures into a folder; resolves with their paths. */
export async function takeWidgetPictures(t: Owner, house: House, folder: string): Promise<string[]> {
  const sites = await openSites(t, house);
  const greeting = 'Good morning! Ask me about bread, orders and opening hours.';
  const channels = { voice: false, link: false, widget: true };
  await house.assistant({ name: 'The bakery', greeting, channels, model: { provider: 'scripted', name: 'demo' }, link: { slug: 'bakery', origins: [sites.origin] } });
  sites.put('/', { title: 'Mill Lane Bakery', head: style, body, tags: ['data-slug="bakery" data-label="Ask the baker" data-accent="#8a4b16"'] });
  mkdirSync(folder, { recursive: true });
  for (const { name, options } of pictures) {
    const { page, context } = await sites.visit('/', { ...options, reducedMotion: 'reduce' });
    await launcherOf(page).waitFor();
    await launcherOf(page).click();
    await say(await frameOf(page, 'bakery'), 'What is 6 * 4.50?');
    await page.screenshot({ path: `${folder}${name}.png` });
    await context.close();
  }
  return pictures.map(({ name }) => `${name}.png`);
}
