/** Pictures of the link's page, for `npm run screenshots`: a conversation with the embedded assistant. */
import { mkdirSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import type { House } from '../../api/house.ts';
import { until } from '../../api/talk.ts';
import { openLink, quiet, replies, say } from './browser.ts';

const send = {
  name: 'send_order',
  description: 'Sends an order.',
  parameters: {
    type: 'object',
    properties: { order: { type: 'string' }, parcels: { type: 'integer' }, to: { type: 'string' } },
  },
};

/** `call`: what the embedded model calls, which waits for approval. */
const pictures: readonly { name: string; slug: string; options: object; messages: readonly string[]; call?: string }[] =
  [
    {
      name: 'page',
      slug: 'shop',
      options: { width: 1440, height: 800 },
      messages: ['My name is Ada.', 'How do I get started?'],
    },
    {
      name: 'phone',
      slug: 'shop',
      options: { width: 390, height: 760, colorScheme: 'dark' },
      messages: ['Count to 7'],
    },
    { name: 'fields', slug: 'orders', options: { width: 390, height: 760, locale: 'de' }, messages: [] },
    {
      name: 'approval',
      slug: 'sends',
      options: { width: 390, height: 700 },
      messages: [],
      call: '/call send_order {"order":"1007","parcels":2,"to":"Ada Lovelace, 12 St James’s Square"}',
    },
  ];

/** Returns the names of the files, without the folder. `named`: of these pictures alone; of all where it is empty. */
export async function takePictures(
  house: House,
  browser: Browser,
  folder: string,
  named: readonly string[] = [],
): Promise<string[]> {
  const common = {
    greeting: 'Good day! What can I do for you?',
    model: { provider: 'scripted', name: 'demo' },
    description: 'Questions about opening hours, orders and returns.',
  };
  await house.assistant({
    ...common,
    name: 'Corner shop',
    channels: { voice: true, link: true, widget: false },
    link: { slug: 'shop', limits: {}, origins: [] },
  });
  const fields = [
    { name: 'name', label: 'Name', type: 'text', required: true },
    { name: 'email', label: 'E-Mail', type: 'email', required: true },
    { name: 'order', label: 'Bestellnummer', type: 'number', required: false },
  ];
  await house.assistant({
    ...common,
    greeting: 'Guten Tag!',
    description: 'Fragen zu Bestellungen.',
    name: 'Eckladen',
    visitor_fields: fields,
    channels: { voice: false, link: true, widget: false },
    link: { slug: 'orders', limits: {}, origins: [] },
  });
  const tool = await house.console(`/workspaces/${house.workspaceId}/tools`, {
    body: {
      kind: 'http',
      name: 'Parcels',
      url: 'https://parcels.example.com/call',
      approval: 'always',
      functions: [send],
    },
  });
  await house.assistant({
    ...common,
    name: 'Parcels',
    tool_ids: [tool.json.id],
    channels: { voice: false, link: true, widget: false },
    link: { slug: 'sends', limits: {}, origins: [] },
  });
  const taken = pictures.filter(({ name }) => named.length === 0 || named.includes(name));
  mkdirSync(folder, { recursive: true });
  for (const { name, slug, options, messages, call } of taken) {
    const { page, complaints, context } = await openLink(browser, `${house.url}/p/${slug}`, options);
    await replies(page).waitFor();
    for (const [index, message] of messages.entries()) {
      await say(page, message);
      await until(async () => (await replies(page).count()) === index + 2);
      await quiet(page);
    }
    if (call !== undefined) {
      await say(page, call);
      await page.locator('#approval').getByRole('button', { name: 'Approve' }).waitFor();
    }
    if (complaints.length > 0) throw new Error(complaints.join('\n'));
    await page.screenshot({ path: `${folder}${name}.png` });
    await context.close();
  }
  return taken.map(({ name }) => `${name}.png`);
}
