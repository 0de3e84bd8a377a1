/** The pictures of docs/widget.md: the widget on a site as there are many, open, wide and on a phone. */
import { mkdirSync } from 'node:fs';
import type { BrowserContextOptions } from 'playwright-core';
import type { House } from '../../api/house.ts';
import { credentialOf } from '../../api/talk.ts';
import type { Owner } from '../../folders.ts';
import { data, delta, done, eventStream, provider } from '../../providers/model/provider.ts';
import { replyingModel } from './replying-model.ts';
import { frameOf, launcherOf, openSites, phone, say } from './sites.ts';

const style = `<style>
:root { color-scheme: light; } body { margin: 0; background: #f3ede3; color: #2c2118; font: 17px/1.6 Georgia, serif; }
main { max-width: 720px; padding: 8px 40px; } h1 { font-size: 34px; line-height: 1.2; } li { margin: 6px 0; }
@media (max-width: 500px) { main { padding: 0 20px; } }
</style>`;
const body = `<p>Bread from our own oven, six days a week. Order until four in the afternoon and fetch it warm the next morning.</p>
<h2>This week</h2><ul><li>Rye with caraway, 1 kg: 4.50</li><li>Wheat sourdough, 750 g: 5.20</li><li>Spelt rolls, six: 3.60</li><li>Butter plait, Saturdays: 4.80</li></ul>
<h2>Where we are</h2><p>Mill Lane 4, beside the old bridge. Open from seven to one, on Saturdays from six to twelve.</p>`;

const wanted = { bread: 'Rye with caraway, 1 kg', loaves: 2, fetched: 'Saturday, 8 o’clock' };
const order = {
  name: 'place_order',
  description: 'Places an order.',
  parameters: {
    type: 'object',
    properties: { bread: { type: 'string' }, loaves: { type: 'integer' }, fetched: { type: 'string' } },
  },
};

interface Picture {
  readonly name: string;
  readonly options: BrowserContextOptions;
  /** The slug of the widget. */
  readonly slug: string;
  readonly message: string;
  /** Whether the message makes a call that waits for approval. */
  readonly waits?: true;
}

const pictures: readonly Picture[] = [
  {
    name: 'open',
    slug: 'bakery',
    options: { viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
    message: 'What does rye with caraway cost?',
  },
  {
    name: 'phone',
    slug: 'bakery',
    options: { ...phone, colorScheme: 'dark' },
    message: 'What does rye with caraway cost?',
  },
  {
    name: 'approval',
    slug: 'bakery-orders',
    options: { viewport: { width: 880, height: 760 }, colorScheme: 'light' },
    message: 'Two rye with caraway, please, for Saturday at eight.',
    waits: true,
  },
];

/** Takes the pictures into a folder; resolves with their paths. */
export async function takeWidgetPictures(t: Owner, house: House, folder: string): Promise<string[]> {
  const sites = await openSites(t, house);
  const greeting = 'Good morning! Ask me about bread, orders and opening hours.';
  const channels = { voice: false, link: false, widget: true };
  await house.assistant({
    name: 'The bakery',
    greeting,
    channels,
    model: await replyingModel(
      t,
      house,
      'A loaf of 1 kg is 4.50. Order until four, and fetch it warm the next morning.',
    ),
    link: { slug: 'bakery', origins: [sites.origin] },
  });
  const tool = await house.console(`/workspaces/${house.workspaceId}/tools`, {
    body: {
      kind: 'http',
      name: 'Orders',
      url: 'https://orders.example.com/call',
      approval: 'always',
      functions: [order],
    },
  });
  const model = await provider((response) => {
    response.writeHead(200, eventStream);
    response.write(delta('I can order that:'));
    response.end(
      data({
        choices: [
          {
            index: 0,
            delta: {
              tool_calls: [
                {
                  index: 0,
                  id: 'call_1',
                  type: 'function',
                  function: { name: order.name, arguments: JSON.stringify(wanted) },
                },
              ],
            },
            finish_reason: 'tool_calls',
          },
        ],
      }) + done,
    );
  });
  t.teardown(() => model.close());
  const credential = await credentialOf(house, 'openai', model.baseUrl);
  await house.assistant({
    name: 'The bakery',
    greeting,
    channels,
    tool_ids: [tool.json.id],
    model: { provider: 'openai', name: 'baker', credential_id: credential.id },
    link: { slug: 'bakery-orders', origins: [sites.origin] },
  });
  for (const slug of ['bakery', 'bakery-orders'])
    sites.put(`/${slug}`, {
      title: 'Mill Lane Bakery',
      head: style,
      body,
      tags: [`data-slug="${slug}" data-label="Ask the baker" data-accent="#8a4b16"`],
    });
  mkdirSync(folder, { recursive: true });
  for (const { name, slug, options, message, waits } of pictures) {
    const { page, context } = await sites.visit(`/${slug}`, { ...options, reducedMotion: 'reduce' });
    await launcherOf(page).waitFor();
    await launcherOf(page).click();
    const frame = await frameOf(page, slug);
    if (waits) {
      await frame.locator('#message').fill(message);
      await frame.locator('#message').press('Enter');
      await frame.locator('#approval').getByRole('button', { name: 'Approve' }).waitFor();
    } else await say(frame, message);
    await page.screenshot({ path: `${folder}${name}.png` });
    await context.close();
  }
  return pictures.map(({ name }) => `${name}.png`);
}
