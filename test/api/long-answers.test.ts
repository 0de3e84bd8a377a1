/** Answers that are no streams are bounded too (promise P21), and say all that they should. */
import t, { type Test } from 'tap';
import type { Exchange } from '../../src/base/edge.ts';
import { replyFlowing } from '../../src/http/handlers/flowing.ts';
import { writePage, type WrittenPage } from '../../src/http/handlers/lists.ts';
import { limits } from '../../src/base/limits.ts';
import type { Page, PageRequest } from '../../src/store/store.ts';
import { sendReply } from '../../src/http/pipeline/reply.ts';
import type { Services } from '../../src/conversation/services.ts';
import { edge, openHouse, type House } from './house.ts';
import { begin, synthetic, transcriptOf } from './talk.ts';

const bytesOf = ({ text }: { text: string }): number => Buffer.byteLength(text);
/** A page's items, and what stands around them. */
const mostBytes = limits.answerBytesMax + 1024;

t.test(edge, async (t) => {
  const house = await openHouse(t);
  await t.test('a page ends where it becomes long', (t) => pages(t, house));
  await t.test('a page that is full to the brim', (t) => brim(t, house));
  await t.test('a message that is longer comes whole', (t) => longMessage(t, house));
  await t.test('a page ends before a message that is longer', (t) => mixed(t, house));
  await t.test('usage by the hour comes whole', (t) => hours(t, house));
});

async function pages(t: Test, house: House): Promise<void> {
  const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`key ${index}`, '語'.repeat(512)]));
  const assistant = await house.assistant();
  const made: string[] = [];
  for (let count = 0; count < 45; count++)
    made.push((await house.session(assistant.id, count === 30 ? {} : { metadata })).id);
  for (const order of ['asc', 'desc']) {
    for (const limit of [100, 10, 1]) {
      const seen: string[] = [];
      let full = 0;
      for (let after: string | null = ''; after !== null;) {
        const answer = await house.ask(
          `/sessions?assistant_id=${assistant.id}&limit=${limit}&order=${order}${after && `&after=${after}`}`,
        );
        const { data, has_more, next_cursor } = answer.json;
        t.ok(bytesOf(answer) <= mostBytes && data.length > 0 && data.length <= limit);
        t.same([has_more, next_cursor], next_cursor === null ? [false, null] : [true, data.at(-1).id]);
        if (data.length === limit) full++;
        seen.push(...data.map(({ id }: { id: string }) => id));
        after = next_cursor;
      }
      t.same(seen, order === 'asc' ? made : made.toReversed(), `${order}, ${limit} at a time`);
      if (limit !== 10) t.equal(full > 0, limit === 1, 'a page of a hundred would be too long');
    }
  }
}

/** Twenty of them fill a page to the last bytes, and so many are read at a time. */
async function brim(t: Test, house: House): Promise<void> {
  const assistant = await house.assistant();
  const metadata = (length: number) =>
    Object.fromEntries(Array.from({ length: 8 }, (_, index) => [`key ${index}`, '語'.repeat(length)]));
  const make = (length: number) => house.session(assistant.id, { metadata: metadata(length) });
  const bare = Buffer.byteLength(JSON.stringify(await make(0)));
  const length = Math.floor((Math.floor(limits.answerBytesMax / limits.listDefault) - bare) / 24);
  for (let count = 0; count < 23; count++) await make(length);
  const ask = async (after: string) =>
    (await house.ask(`/sessions?assistant_id=${assistant.id}&limit=100${after}`)).json;
  const first = await ask('');
  t.same([first.data.length, first.has_more, first.next_cursor], [limits.listDefault, true, first.data.at(-1).id]);
  const second = await ask(`&after=${first.next_cursor}`);
  t.same([second.data.length, second.has_more, second.next_cursor], [4, false, null]);
}

/** The longest that a turn can say, of characters that are longest in JSON. */
const words = `text=${'\u0001'.repeat(98)}👋`;

async function longMessage(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, `tokens=1990,${words}`);
  const { id, stream } = await begin(house, assistant.id);
  await stream.rest();
  const content = `${words.slice(5)} `.repeat(1990);
  for (const order of ['asc', 'desc']) {
    const first = await house.ask(`/sessions/${id}/transcript?limit=100&order=${order}`);
    const second = await house.ask(
      `/sessions/${id}/transcript?limit=100&order=${order}&after=${first.json.next_cursor}`,
    );
    const [short, long] = order === 'asc' ? [first, second] : [second, first];
    t.ok(bytesOf(long) > 1_000_000);
    t.equal(long.headers.get('content-length'), null);
    t.match(long.headers.get('content-type'), /^application\/json/);
    t.match(long.json.data, [{ role: 'assistant', status: 'completed', stop_reason: 'end', turn_id: stream.turnId }]);
    t.ok(long.json.data.length === 1 && long.json.data[0].content === content, 'all of it, and nothing else');
    t.match(short.json.data, [{ role: 'user', content: 'Hello' }]);
    t.same([first.json.has_more, second.json.has_more], [true, false]);
  }
  const head = await fetch(`${house.url}/sessions/${id}/transcript?after=0`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${house.key}` },
  });
  t.same([head.status, await head.text()], [200, '']);
}

async function mixed(t: Test, house: House): Promise<void> {
  const [brief, long] = [await synthetic(house, 'tokens=3'), await synthetic(house, `tokens=600,${words}`)];
  const { id, stream } = await begin(house, brief.id);
  await stream.rest();
  const other = await begin(house, long.id);
  await other.stream.rest();
  t.equal((await transcriptOf(house, id)).length, 2);
  const { json } = await house.ask(`/sessions/${other.id}/transcript`);
  t.same([json.data.length, json.has_more], [1, true], 'the long one is on the next page');
}

async function hours(t: Test, house: House): Promise<void> {
  const assistant = await synthetic(house, 'tokens=3');
  await (await begin(house, assistant.id)).stream.rest();
  const end = Math.floor(Date.now() / 1000) + 1;
  const start = end - 90 * 86_400 + 17;
  const answer = await house.ask(`/usage?bucket=hour&start=${start}&end=${end}&assistant_id=${assistant.id}`);
  const { data, totals, ...rest } = answer.json;
  t.same(rest, { object: 'usage', start, end, bucket: 'hour' });
  t.equal(answer.headers.get('content-length'), null);
  const first = start - (start % 3600);
  t.same(
    data.map(({ start }: { start: number }) => start),
    Array.from({ length: Math.ceil((end - first) / 3600) }, (_, index) => first + index * 3600),
  );
  t.match(totals, { sessions: 1, turns: 1, output_tokens: 3 });
  t.equal(
    data.reduce((sum: number, { turns }: { turns: number }) => sum + turns, 0),
    1,
  );
  const days = await house.ask(`/usage?start=${start}&end=${end}&assistant_id=${assistant.id}`);
  t.same(days.json.totals, totals);
  t.ok(Number(days.headers.get('content-length')) > 0, 'what is short is no stream');
  t.same((await house.ask(`/usage?bucket=hour&start=${end}&end=${end}`)).json.data, []);
}

t.test('an item removed while a page is read costs no other item', async (t) => {
  let there = Array.from({ length: 8 }, (_, index) => `${index} ${'a'.repeat(limits.answerBytesMax / 5)}`);
  let readings = 0;
  const read = async ({ after, limit }: PageRequest): Promise<Page<string>> => {
    if (++readings === 2) there = there.toSpliced(1, 1);
    const rest = there.filter((item) => after === null || item > after);
    return { items: rest.slice(0, limit), next: rest.length > limit ? rest[limit - 1]! : null };
  };
  const seen: string[] = [];
  for (let after: string | null = null, more = true; more; more = after !== null) {
    const page: WrittenPage<string> = await writePage({ limit: 100, after, order: 'asc' }, read, (item) => item);
    t.ok(page.texts.join('').length <= limits.answerBytesMax);
    t.same(
      page.texts.map((text) => JSON.parse(text)),
      page.items,
    );
    seen.push(...page.items);
    after = page.next;
  }
  t.same(seen.map((item) => item[0]).join(''), '0234567');
});

/** An outlet that takes so many pieces before it holds back. */
function outletTo(room: number) {
  const told: string[] = [];
  let drained = (): void => {};
  let left = (): void => {};
  const outlet = {
    write: (piece: string | Uint8Array) => told.push(String(piece)) < room,
    onDrain: (callback: () => void) => void (drained = callback),
    end: () => void told.push('end'),
    cut: () => void told.push('cut'),
  };
  const onGone = (callback: () => void): void => void (left = callback);
  return { told, outlet, onGone, drain: () => drained(), leave: () => left() };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

t.test('pieces are made when there is room for them', async (t) => {
  const made: number[] = [];
  async function* pieces(): AsyncGenerator<string, void> {
    for (let number = 0; number < 4; number++) {
      made.push(number);
      yield `${number}`;
    }
  }
  const reply = await replyFlowing(pieces());
  if (!('stream' in reply)) return t.fail('it is no stream');
  t.same(made, [0]);
  const { told, outlet, onGone, drain } = outletTo(2);
  void reply.stream(outlet, onGone);
  await settled();
  t.same(
    [made, told],
    [
      [0, 1],
      ['0', '1'],
    ],
  );
  drain();
  await settled();
  t.same(
    [made, told],
    [
      [0, 1, 2],
      ['0', '1', '2'],
    ],
  );
  drain();
  await settled();
  drain();
  await settled();
  t.same(told, ['0', '1', '2', '3', 'end']);
});

t.test('a fault before anything was sent is a failure, and afterwards the answer is cut', async (t) => {
  async function* failing(at: number): AsyncGenerator<string, void> {
    if (at === 0) throw new Error('away');
    yield 'half';
    throw new Error('away');
  }
  await t.rejects(replyFlowing(failing(0)), { message: 'away' });
  const reply = await replyFlowing(failing(1));
  if (!('stream' in reply)) return t.fail('it is no stream');
  const { told, outlet, onGone } = outletTo(9);
  const lines: unknown[] = [];
  const log = {
    error: (...line: unknown[]) => lines.push(line),
    info: ({ status }: { status: number }) => lines.push(status),
  };
  const exchange = { path: '/', stream: () => outlet, onGone } as unknown as Exchange;
  const services = {
    log,
    config: { trustedProxies: [] },
    clock: { monotonic: () => 1 },
    metrics: { requests: { inc() {} } },
  } as unknown as Services;
  sendReply(
    exchange,
    reply,
    {
      requestId: 'req_1',
      path: '/',
      startedAt: 0,
      route: null,
      caller: null,
      rate: null,
      site: null,
      span: null,
      failure: null,
    },
    services,
  );
  await settled();
  t.same(told, ['half', 'cut']);
  t.match(lines, [[{ request_id: 'req_1', err: { message: 'away' } }, 'answer cut'], 200], 'and the log says why');
});

t.test('an answer stops being made once its reader has left', async (t) => {
  let over = false;
  async function* endless(): AsyncGenerator<string, void> {
    try {
      for (;;) yield 'more';
    } finally {
      over = true;
    }
  }
  const reply = await replyFlowing(endless());
  if (!('stream' in reply)) return t.fail('it is no stream');
  const { told, outlet, onGone, leave } = outletTo(1);
  void reply.stream(outlet, onGone);
  await settled();
  leave();
  await settled();
  t.same([told, over], [['more'], true]);
});
