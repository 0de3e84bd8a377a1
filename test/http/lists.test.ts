/** Lists of many assistants: they wake none of them, and other work runs between their pages. */
import t from 'tap';
import { draftSnapshot } from '../../src/host/assistants.ts';
import { Versions } from '../../src/host/versions.ts';
import { recordsOf } from '../../src/store/parts/catalog.ts';
import { listTools } from '../../src/http/handlers/mcp-tools.ts';
import { listModels } from '../../src/http/openai/models.ts';
import type { PageRequest } from '../../src/store/store.ts';

const count = 1_050;
const idOf = (number: number): string => `asst_${String(number).padStart(26, '0')}`;
const draft = draftSnapshot(false);
/** One in ten is published, and of these one in two wants to know its visitors. */
const records = Array.from({ length: count }, (_, number) => ({
  ...{ id: idOf(number), name: `A ${number}`, alias: null, description: null, createdAt: number },
  machine: number % 10 === 0 ? { ...draft, state: 'published' } : draft,
  visitorFields: [{ name: 'email', type: 'email', label: 'E-mail', required: number % 20 === 0 }],
}));

/** A catalog that answers within the iteration of the event loop, as an embedded store does. */
function catalogOf() {
  let pages = 0;
  const list = async (_kind: string, _workspaceId: string, { limit, after, order }: PageRequest) => {
    pages++;
    const ordered = order === 'asc' ? records : records.toReversed();
    const from = after === null ? 0 : ordered.findIndex(({ id }) => id === after) + 1;
    const items = ordered.slice(from, from + limit);
    return { items, next: from + limit < ordered.length ? items.at(-1)!.id : null };
  };
  return { list, pages: () => pages };
}

/** Counts the iterations of the event loop during some work. */
async function iterations(work: () => Promise<unknown>): Promise<number> {
  let passed = 0;
  let isOver = false;
  const beat = (): void => void (isOver || setImmediate(() => (passed++, beat())));
  beat();
  try {
    await work();
  } finally {
    isOver = true;
  }
  return passed;
}

t.test('a list of models wakes no assistant, and leaves room for other work between pages', async (t) => {
  const catalog = catalogOf();
  // The host has only versions, as nothing uses the rest.
  const host = { versions: new Versions(catalog as never) };
  const request = {
    caller: { principal: { workspaceId: 'wks_1', assistantIds: null } },
    services: { store: { catalog }, host },
  };
  let reply: any;
  const passed = await iterations(async () => (reply = await listModels(request as never)));
  const listed = reply.json.data.map(({ id }: { id: string }) => id);
  t.same(
    listed,
    records
      .filter((_, number) => number % 20 === 10)
      .map(({ id }) => id)
      .reverse(),
  );
  t.ok(catalog.pages() > 10);
  t.ok(passed >= catalog.pages() - 2, `${passed} iterations for ${catalog.pages()} pages`);
  const page = await listTools(request as never, undefined);
  t.same(
    page.tools.map(({ name }) => name),
    [10, 30, 50, 70, 90].map((number) => `ask_${idOf(number)}`),
  );
});

t.test('a search through all assistants leaves room for other work between pages', async (t) => {
  const catalog = catalogOf();
  const found: string[] = [];
  const passed = await iterations(async () => {
    for await (const { id } of recordsOf(catalog as never, 'assistant', 'wks_1')) found.push(id);
  });
  t.same(
    found,
    records.map(({ id }) => id),
  );
  t.ok(passed >= catalog.pages() - 2, `${passed} iterations for ${catalog.pages()} pages`);
});
