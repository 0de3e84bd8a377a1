/** `GET /usage` (contract 6). */
import t, { type Test } from 'tap';
import { openHouse, openWorkspace, type House } from './house.ts';
import { abort, begin, refused, sayInVain, synthetic } from './talk.ts';

const zeros = {
  sessions: 0,
  turns: 0,
  failed_turns: 0,
  input_tokens: 0,
  output_tokens: 0,
  speech_characters: 0,
  transcription_seconds: 0,
  tool_calls: 0,
  cached_input_tokens: 0,
  feedback_up: 0,
  feedback_down: 0,
  person_messages: 0,
  handovers: 0,
};
const day = 86_400;

t.test('usage counts sessions, turns and tokens by bucket', async (t) => {
  const house = await openWorkspace();
  const usage = async (query: string, key = house.key) => (await house.ask(`/usage?${query}`, { key })).json;
  await t.test('usage that is counted', (t) => counted(t, house, usage));
  await t.test('windows and buckets divide usage as asked', (t) => windows(t, house, usage));
  await t.test('windows that cannot be', (t) => ranges(t, house));
  await t.test('whose usage it is', (t) => whose(t, house, usage));
});

t.test('usage counts characters and seconds of speech', spoken);

type Usage = (query: string, key?: string) => Promise<any>;

async function counted(t: Test, house: House, usage: Usage): Promise<void> {
  const nothing = await usage('');
  t.same(nothing.totals, zeros, 'every count is there, at zero');
  t.match(nothing, { object: 'usage', bucket: 'day' });
  t.equal(nothing.end - nothing.start, 30 * day, 'the last 30 days by default');

  const given = await synthetic(house, 'tokens=7');
  const one = await begin(house, given.id);
  const { usage: told } = (await one.stream.rest()).at(-1)!.data;
  t.same(told, { input_tokens: 2, output_tokens: 7, cached_input_tokens: 0 });
  const of = (id: string) => usage(`assistant_id=${id}`);
  t.same((await of(given.id)).totals, { ...zeros, sessions: 1, turns: 1, ...told });

  const estimated = await synthetic(house, 'tokens=3,text=ab😀,usage=0', { greeting: 'Hi!' });
  const two = await begin(house, estimated.id);
  const rule = {
    input_tokens: Math.ceil(('Hi!'.length + 'Hello'.length) / 4),
    output_tokens: Math.ceil(3 * (3 / 4 + 1)),
    cached_input_tokens: 0,
  };
  t.same(
    (await two.stream.rest()).at(-1)!.data.usage,
    rule,
    'without counts: a quarter of a token for a Latin character, one for an emoji, rounded up',
  );
  t.same((await of(estimated.id)).totals, { ...zeros, sessions: 1, turns: 1, ...rule });

  const mixed = await synthetic(house, 'tokens=4,hang_at=2,text=abc');
  const three = await begin(house, mixed.id);
  await three.stream.next();
  await three.stream.next();
  t.match((await of(mixed.id)).totals, { sessions: 1, turns: 0 }, 'a turn counts when it is over');
  await abort(house, three.id, three.stream.turnId);
  t.same(
    (await of(mixed.id)).totals,
    { ...zeros, sessions: 1, turns: 1, input_tokens: 2, output_tokens: 2 },
    'an aborted one is no failed one',
  );

  const failing = await synthetic(house, 'tokens=4,fail_at=1,text=abc,usage=0');
  await (await begin(house, failing.id)).stream.rest();
  t.same((await of(failing.id)).totals, {
    ...zeros,
    sessions: 1,
    turns: 1,
    failed_turns: 1,
    input_tokens: 2,
    output_tokens: 1,
  });
  const refusing = await synthetic(house, 'tokens=4,fail_at=0');
  await sayInVain(house, (await house.session(refusing.id)).id);
  t.same((await of(refusing.id)).totals, { ...zeros, sessions: 1 }, 'one that was refused before its stream is none');

  const all = (await usage('')).totals;
  t.match(all, { sessions: 5, turns: 4, failed_turns: 1, input_tokens: 8, output_tokens: 7 + 6 + 2 + 1 });
}

async function windows(t: Test, house: House, usage: Usage): Promise<void> {
  const assistant = await synthetic(house, 'tokens=1');
  const { created_at: at } = await house.session(assistant.id);
  const of = `assistant_id=${assistant.id}`;
  const sessions = async (start: number, end: number) =>
    (await usage(`${of}&start=${start}&end=${end}`)).totals.sessions;
  t.same(
    [await sessions(at, at + 1), await sessions(at - 1, at), await sessions(at + 1, at + 2)],
    [1, 0, 0],
    'start inclusive, end exclusive',
  );

  for (const [bucket, seconds] of [
    ['hour', 3600],
    ['day', day],
  ] as const) {
    const start = Math.floor(at / seconds) * seconds - 3 * seconds;
    const whole = await usage(`${of}&start=${start}&end=${start + 5 * seconds}&bucket=${bucket}`);
    t.match(whole, { object: 'usage', start, end: start + 5 * seconds, bucket });
    const counts = [0, 0, 0, 1, 0].map((sessions, index) => ({ start: start + index * seconds, ...zeros, sessions }));
    t.same(whole.data, counts, `every ${bucket}, the empty ones too`);
    const ragged = await usage(`${of}&start=${start + 10}&end=${start + 10 + seconds}&bucket=${bucket}`);
    t.same(
      ragged.data.map(({ start }: { start: number }) => start),
      [start, start + seconds],
      'buckets are aligned to UTC',
    );
  }
  t.equal((await usage(`${of}&start=${at - 10}&end=${at + 1}`)).bucket, 'day');
  t.match(await usage(`start=${at}&end=${at}`), { data: { length: 0 }, totals: zeros }, 'an empty window');
  const longest = await usage(`start=${at - 90 * day}&end=${at}`);
  t.ok(longest.data.length >= 90 && longest.data.length <= 91, 'exactly 90 days is legal');
}

async function ranges(t: Test, house: House): Promise<void> {
  const now = Math.floor(Date.now() / 1000);
  for (const query of [
    `start=${now}&end=${now - 1}`,
    `start=${now - 90 * day - 1}&end=${now}`,
    `start=${now - 100 * day}`,
    `start=${now + day}`,
  ]) {
    const answer = await house.ask(`/usage?${query}`);
    refused(t, answer, 422, 'invalid_range', 'invalid_request');
  }
  for (const [query, field] of [
    ['start=x', 'start'],
    ['end=1.5', 'end'],
    ['start=-1', 'start'],
    ['bucket=week', 'bucket'],
  ] as const) {
    const answer = await house.ask(`/usage?${query}`);
    refused(t, answer, 422, 'invalid_request');
    t.match(answer.json.error.message, `\`${field}\``);
  }
}

async function whose(t: Test, house: House, usage: Usage): Promise<void> {
  const [mine, other] = [await synthetic(house, 'tokens=2'), await synthetic(house, 'tokens=3')];
  for (const { id } of [mine, other]) await (await begin(house, id)).stream.rest();
  const { key } = await house.newKey({ assistant_ids: [mine.id] });
  t.match((await usage('', key)).totals, { sessions: 1, turns: 1, output_tokens: 2 }, 'a restricted key sums its own');
  t.match((await usage(`assistant_id=${mine.id}`, key)).totals, { turns: 1 });
  const unreachable = await house.ask(`/usage?assistant_id=${other.id}`, { key });
  refused(t, unreachable, 404, 'assistant_not_found');
  refused(t, await house.ask('/usage?assistant_id=asst_00000000000000000000000000'), 404, 'assistant_not_found');
  const nothing = await house.newKey({ assistant_ids: [] });
  t.same((await usage('', nothing.key)).totals, zeros);
  const viaConsole = (await house.console(`/workspaces/${house.workspaceId}/usage?assistant_id=${other.id}`)).json;
  t.match(viaConsole.totals, { sessions: 1, turns: 1, output_tokens: 3 });
}

/**
 * Speech that was answered is in the usage, as a turn is. It is asked for several times, since a count that comes late
 * is sometimes in time; in memory it always is.
 */
async function spoken(t: Test): Promise<void> {
  const house = await openHouse(t, { env: { PARLEY_STORE: 'lmdb:./data' } });
  const { id } = await house.assistant({
    channels: { voice: true },
    voice: { provider: 'synthetic', name: 'audio_ms=10' },
  });
  const text = 'One. Two.';
  let characters = 0;
  for (const fields of Array.from({ length: 10 }, () => [
    { stream: false },
    { stream: true },
    { stream: true, format: 'mp3' },
  ]).flat()) {
    t.equal((await house.ask('/speech', { body: { assistant_id: id, text, ...fields } })).status, 200);
    characters += text.length;
    t.equal(
      (await house.ask(`/usage?assistant_id=${id}`)).json.totals.speech_characters,
      characters,
      JSON.stringify(fields),
    );
  }
}
