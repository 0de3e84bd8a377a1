/** What the console shows of a workspace beyond its records (contract 9, "Details of history, feed and desk"). */
import t, { type Test } from 'tap';
import { openHouse, type House } from './house.ts';
import { isRated } from './refusal.ts';

t.test("the console's desk", async (t) => {
  const house = await openHouse(t);
  await t.test('budgets as they stand', (t) => budgets(t, house));
});

async function budgets(t: Test, house: House): Promise<void> {
  const keys = `/workspaces/${house.workspaceId}/keys`;
  // A ceiling so low that nothing is refilled while the test runs.
  const made = await house.newKey({ limits: { requests: 3, speech: 2, transcription_tokens: 1 } });
  const now = () => Date.now() / 1000;
  const read = async () => (await house.console(`${keys}/${made.id}`)).json;
  const full = { requests: { limit: 3, remaining: 3 }, speech: { limit: 2, remaining: 2 }, transcription_tokens: { limit: 1, remaining: 1 } };
  t.match(made, { last_used_at: null, budgets: full }, 'a new key');
  for (let times = 0; times < 5; times++) t.match(await read(), { last_used_at: null, budgets: full }, 'reading charges nothing');

  const before = now();
  const answer = await house.ask('/assistants', { key: made.key });
  const used = await read();
  t.same(used.budgets.requests, { limit: 3, remaining: 2, reset: Number(answer.headers.get('x-ratelimit-reset')) }, 'as the answer said');
  t.match(used.budgets, { speech: full.speech, transcription_tokens: full.transcription_tokens }, 'each by itself');
  t.equal(used.last_used_at % 60, 0, 'to the minute');
  t.ok(used.last_used_at > before - 60 - 1 && used.last_used_at <= now() + 1);
  const listed = (await house.console(keys)).json.data;
  t.same(listed.find(({ id }: { id: string }) => id === made.id).budgets.requests, used.budgets.requests, 'in the list as well');
  t.match(listed.find(({ id }: { id: string }) => id !== made.id).budgets.requests, { limit: 100_000 }, 'each key its own');

  for (let times = 0; times < 3; times++) await house.ask('/assistants', { key: made.key });
  const refused = await house.ask('/assistants', { key: made.key });
  t.equal(refused.status, 429);
  const owing = await read();
  t.same([owing.budgets.requests.remaining, owing.status], [0, 'active']);
  t.ok(owing.budgets.requests.reset >= Number(refused.headers.get('x-ratelimit-reset')) - 1, 'the debt is in it');
  t.equal((await house.ask('/assistants', { key: made.key })).headers.get('retry-after'), refused.headers.get('retry-after'), 'the deepest debt: nothing was charged in between');

  const raised = await house.console(`${keys}/${made.id}`, { method: 'PATCH', body: { limits: { speech: 7 } } });
  t.match(raised.json, { last_used_at: owing.last_used_at, budgets: { speech: { limit: 7, remaining: 7 } } }, 'a change answers with them too');
  isRated(t, raised, false, 'no rate headers');
  const rotated = (await house.console(`${keys}/${made.id}/rotate`, { body: {} })).json;
  t.match(rotated, { last_used_at: null, budgets: { requests: { limit: 3, remaining: 3 } } }, 'the key that replaces it is unused');
}
