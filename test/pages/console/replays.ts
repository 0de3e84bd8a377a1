/** Stored conversations of a shop's assistant, and a worse prompt as its draft: for a replay, and for its picture. */
import type { ServerResponse } from 'node:http';
import type { House } from '../../api/house.ts';
import { answered, assistantPath, credentialOf, end, operate, say } from '../../api/talk.ts';
import type { Owner } from '../../folders.ts';
import { provider, type Seen } from '../../providers/model/provider.ts';
import type { Console } from './console.ts';
import { settled } from './console.ts';

/** Each question, with the reply to the good prompt and to the worse one. */
const exchanges = [
  [
    'Where is my order?',
    'It left our warehouse on Tuesday and arrives within two days. You find the link to follow it in our mail.',
    'It left our warehouse on Tuesday.',
  ],
  [
    'Can I return the blue jacket? It does not fit.',
    'Yes: within 30 days, unworn. I can send you a label right away. Shall I?',
    'No refunds.',
  ],
  ['How long do I have to pay?', 'You have 14 days after the parcel has arrived.', 'You have 14 days.'],
  [
    'What does shipping to Norway cost?',
    'One parcel costs 12 €, two cost 18 €.',
    'One parcel costs 15 €, two cost 30 €.',
  ],
  ['When are you open?', 'From 9 to 17, Monday to Friday.', 'From 9 to 17, Monday to Friday.'],
] as const;

const worsePrompt = 'You work for a shop. Never offer refunds. Be brief.';

function reply(response: ServerResponse, { body: { messages } }: Seen): void {
  const { content } = messages.findLast(({ role }: { role: string }) => role === 'user');
  const found = exchanges.find(([question]) => question === content);
  const isWorse = messages[0].content === worsePrompt;
  answered(response, [found?.[isWorse ? 2 : 1] ?? ''], { prompt_tokens: 40, completion_tokens: 20 });
}

/** An assistant with so many conversations that have ended, and the worse prompt in its draft. */
export async function withConversations(t: Owner, house: House, conversations: number): Promise<string> {
  const upstream = await provider(reply);
  t.teardown(() => upstream.close());
  const credential = await credentialOf(house, 'openai', upstream.baseUrl);
  const model = {
    provider: 'openai',
    name: 'shop',
    credential_id: credential.id,
    system_prompt: 'You work for a shop. Be kind, and offer refunds within 30 days.',
  };
  const { id } = await house.assistant({ name: 'Shop', model });
  for (let index = 0; index < conversations; index++) {
    const session = await house.session(id);
    await (await say(house, session.id, exchanges[index % exchanges.length]![0])).rest();
    await end(house, session.id);
  }
  await operate(house, 'PATCH', assistantPath(house, id), { model: { system_prompt: worsePrompt } });
  return id;
}

/** The picture of a replay of fifty conversations, with its first differences. */
export async function takeReplayPicture(owner: Owner, console: Console, file: string): Promise<void> {
  const { house } = console;
  const id = await withConversations(owner, house, 50);
  const path = assistantPath(house, id, '/test-runs');
  const run = await operate(house, 'POST', path, { version: 'draft', replay: { sessions: 50 } });
  const { page, context } = await console.open({ width: 1280 });
  await page.setViewportSize({ width: 1280, height: 760 });
  await page.goto(console.url(house.workspaceId, 'assistants', id, 'test-runs', run.id));
  await page.getByText('All conversations were played.').waitFor();
  await settled(page);
  await page.screenshot({ path: file });
  await context.close();
}
