/** Lists: their envelope, their pages, their order, and items that a key does not reach (contract 1 and 4). */
import t, { type Test } from 'tap';
import { openWorkspace, type Answer, type House } from './house.ts';
import { isRefused, refusals, wrongField } from './refusal.ts';

t.test('lists return pages with a cursor', async (t) => {
  const house = await openWorkspace();
  await t.test('assistants are listed in order of creation', (t) => assistants(t, house));
  await t.test('sessions are listed, newest first', (t) => sessions(t, house));
  await t.test('messages are listed by index', (t) => messages(t, house));
  await t.test('lists of the console page alike', (t) => ofConsole(t, house));
  await t.test('a cursor must be one', (t) => cursors(t, house));
  await t.test('a restricted key sees what it reaches', (t) => restricted(t, house));
  await t.test('an assistant out of reach is as unknown as none', (t) => unreachable(t, house));
});

type Get = (query: string) => Promise<Answer>;

const idsOf = ({ json }: Answer): string[] => json.data.map(({ id }: { id: string }) => id);

/** Holds a list to the order of its creation: whole, page by page, both ways round. */
async function isList(t: Test, get: Get, created: readonly string[], order: 'asc' | 'desc'): Promise<void> {
  const ascending = [...created];
  const descending = [...created].reverse();
  const whole = await get('limit=100');
  t.same(Object.keys(whole.json).sort(), ['data', 'has_more', 'next_cursor', 'object']);
  t.same([whole.status, whole.json.object, whole.json.has_more, whole.json.next_cursor], [200, 'list', false, null]);
  t.same(idsOf(whole), order === 'asc' ? ascending : descending, 'the order without asking');
  for (const [asked, expected] of [
    ['asc', ascending],
    ['desc', descending],
  ] as const) {
    for (const limit of [1, 2, created.length - 1, created.length, created.length + 1]) {
      const seen: string[] = [];
      let cursor: string | null = null;
      do {
        const page = await get(`limit=${limit}&order=${asked}${cursor === null ? '' : `&after=${cursor}`}`);
        t.ok(
          page.json.data.length <= limit && page.json.has_more === (page.json.next_cursor !== null),
          `pages of ${limit}, ${asked}`,
        );
        seen.push(...idsOf(page));
        cursor = page.json.next_cursor;
        t.equal(page.json.has_more, seen.length < expected.length, 'there is more where there is');
      } while (cursor !== null && seen.length <= expected.length);
      t.same(seen, expected, `pages of ${limit}, ${asked}: each once, in order`);
    }
  }
}

/** Makes some, one after the other. */
async function several(count: number, make: () => Promise<{ id: string }>): Promise<string[]> {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) ids.push((await make()).id);
  return ids;
}

async function assistants(t: Test, house: House): Promise<void> {
  const before = idsOf(await house.ask('/assistants?limit=100&order=asc'));
  const made = await several(4, () => house.assistant());
  await isList(t, (query) => house.ask(`/assistants?${query}`), [...before, ...made], 'desc');
  const { key } = await house.newKey({ assistant_ids: [made[2], 'asst_none', made[0], made[3], made[0]] });
  await isList(t, (query) => house.ask(`/assistants?${query}`, { key }), [made[0]!, made[2]!, made[3]!], 'desc');
}

async function sessions(t: Test, house: House): Promise<void> {
  const [one, other] = [await house.assistant(), await house.assistant()];
  const made = await several(5, () => house.session(one.id));
  const foreign = await several(2, () => house.session(other.id));
  await isList(t, (query) => house.ask(`/sessions?assistant_id=${one.id}&${query}`), made, 'desc');
  await isList(t, (query) => house.ask(`/sessions?${query}`), [...made, ...foreign], 'desc');
  for (const id of [made[1], made[3]]) await house.ask(`/sessions/${id}/end`, { method: 'POST' });
  const of = (status: string) => (query: string) =>
    house.ask(`/sessions?assistant_id=${one.id}&status=${status}&${query}`);
  await isList(t, of('ended'), [made[1]!, made[3]!], 'desc');
  await isList(t, of('open'), [made[0]!, made[2]!, made[4]!], 'desc');
  t.same(idsOf(await of('expired')('')), []);
  const more = await several(21, () => house.session(other.id));
  const page = await house.ask('/sessions');
  t.same(idsOf(page), more.slice(1).reverse(), '20 unless asked otherwise');
  t.equal(page.json.has_more, true);
}

async function messages(t: Test, house: House): Promise<void> {
  const assistant = await house.assistant({ greeting: 'Hello.' });
  const { id } = await house.session(assistant.id);
  for (const message of ['one', 'two'])
    await (await house.stream(`/sessions/${id}/chat`, { body: { message } })).rest();
  const whole = (await house.ask(`/sessions/${id}/transcript`)).json.data;
  t.same(
    whole.map(({ role }: { role: string }) => role),
    ['assistant', 'user', 'assistant', 'user', 'assistant'],
  );
  const ids = whole.map(({ id }: { id: string }) => id);
  await isList(t, (query) => house.ask(`/sessions/${id}/transcript?${query}`), ids, 'asc');
  await isList(
    t,
    (query) => house.console(`/workspaces/${house.workspaceId}/sessions/${id}/transcript?${query}`),
    ids,
    'asc',
  );
  const empty = await house.session((await house.assistant()).id);
  t.same((await house.ask(`/sessions/${empty.id}/transcript`)).json, {
    object: 'list',
    data: [],
    has_more: false,
    next_cursor: null,
  });
}

async function ofConsole(t: Test, house: House): Promise<void> {
  const first = (await house.console('/workspaces?limit=100&order=asc')).json.data.map(({ id }: { id: string }) => id);
  const workspaces = await several(3, async () => (await house.console('/workspaces', { body: { name: 'w' } })).json);
  await isList(t, (query) => house.console(`/workspaces?${query}`), [...first, ...workspaces], 'desc');
  const inside = `/workspaces/${workspaces[0]}`;
  const bodies = {
    assistants: { name: 'a' },
    keys: { name: 'k' },
    credentials: { kind: 'model', provider: 'openai', api_key: 'k' },
  };
  for (const [list, body] of Object.entries(bodies)) {
    t.same((await house.console(`${inside}/${list}`)).json.data, [], `no ${list}`);
    const made = await several(3, async () => (await house.console(`${inside}/${list}`, { body })).json);
    await isList(t, (query) => house.console(`${inside}/${list}?${query}`), made, 'desc');
  }
}

async function cursors(t: Test, house: House): Promise<void> {
  const assistant = await house.assistant();
  const session = await house.session(assistant.id);
  const wrong = ['', 'x', 'ses_', `${session.id}0`, session.id.toUpperCase(), '-1', '1.5', '%00', '__proto__'];
  const lists: Record<string, string[]> = {
    '/assistants': [...wrong, session.id, '0'],
    '/sessions': [...wrong, assistant.id, '0'],
    [`/sessions/${session.id}/transcript`]: [...wrong, session.id, '9'.repeat(13)],
  };
  for (const [path, cursors] of Object.entries(lists)) {
    for (const cursor of cursors)
      isRefused(t, await house.ask(`${path}?after=${cursor}`), wrongField('after'), `${path} after ${cursor}`);
  }
  // A cursor whose item is gone still has its place.
  const [older, gone, newer] = await several(3, () => house.assistant());
  await house.console(`/workspaces/${house.workspaceId}/assistants/${gone}`, { method: 'DELETE' });
  t.equal(idsOf(await house.ask(`/assistants?after=${gone}&limit=1`))[0], older);
  t.equal(idsOf(await house.ask(`/assistants?after=${gone}&limit=1&order=asc`))[0], newer);
}

async function restricted(t: Test, house: House): Promise<void> {
  const [mine, second, theirs] = [await house.assistant(), await house.assistant(), await house.assistant()];
  const { id, key } = await house.newKey({ assistant_ids: [mine.id] });
  const [a, b] = [await house.session(mine.id), await house.session(theirs.id)];
  t.same(idsOf(await house.ask('/assistants', { key })), [mine.id]);
  t.same(idsOf(await house.ask('/sessions', { key })), [a.id]);
  t.equal((await house.ask('/usage', { key })).json.totals.sessions, 1);
  t.equal((await house.ask(`/usage?assistant_id=${mine.id}`, { key })).json.totals.sessions, 1);
  const patch = (body: object) =>
    house.console(`/workspaces/${house.workspaceId}/keys/${id}`, { method: 'PATCH', body });
  await patch({ assistant_ids: [mine.id, second.id, theirs.id] });
  t.same(idsOf(await house.ask('/assistants', { key })), [theirs.id, second.id, mine.id], 'more, at once');
  t.same(idsOf(await house.ask('/sessions', { key })), [b.id, a.id]);
  await patch({ assistant_ids: [] });
  for (const path of ['/assistants', '/sessions'])
    t.same(
      (await house.ask(path, { key })).json,
      { object: 'list', data: [], has_more: false, next_cursor: null },
      path,
    );
  t.equal((await house.ask('/usage', { key })).json.totals.sessions, 0, 'an empty list reaches nothing');
  await patch({ assistant_ids: null });
  t.ok(idsOf(await house.ask('/assistants', { key })).length > 3, 'null reaches all');
}

async function unreachable(t: Test, house: House): Promise<void> {
  const [mine, theirs] = [await house.assistant(), await house.assistant()];
  const { key } = await house.newKey({ assistant_ids: [mine.id] });
  await house.session(theirs.id);
  const bytes = ({ status, headers, text, json }: Answer): unknown => {
    const kept = [...headers].filter(
      ([name]) =>
        !['x-request-id', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'date', 'connection', 'keep-alive'].includes(
          name,
        ),
    );
    return [status, kept, text.replace(json.request_id, '')];
  };
  for (const path of ['/sessions?assistant_id=', '/usage?assistant_id=']) {
    const unknown = await house.ask(`${path}asst_none`, { key });
    isRefused(t, unknown, refusals.noAssistant, path);
    t.same(bytes(await house.ask(path + theirs.id, { key })), bytes(unknown), `${path}: not one byte differs`);
    t.equal((await house.ask(path + mine.id, { key })).status, 200);
    t.equal((await house.ask(path + theirs.id)).status, 200, 'a key that reaches it sees it');
  }
  isRefused(
    t,
    await house.ask(`/assistants/${theirs.id}`, { key }),
    refusals.notPermitted,
    'where it is named it is 403',
  );
}
