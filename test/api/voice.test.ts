/**
 * Speech and transcription of an assistant whose voice lacks its credential: every check of theirs, in the contract's
 * order (contract 3, 6 and 8).
 */
import t, { type Test } from 'tap';
import { edge, openWorkspace, type Answer } from './house.ts';
import { refusedUpgrade } from './raw.ts';
import { isRefused, limitedFor, missingField, rateHeaders, refusals, wrongField, type Refusal } from './refusal.ts';
import { end, synthetic } from './talk.ts';

t.test(edge, async (t) => {
  const world = await openWorld();
  await t.test('fields, then the assistant, then permission, then its state, then the voice', (t) =>
    everyCheck(t, world),
  );
  await t.test("a text's length is counted in code points", (t) => lengths(t, world));
  await t.test("a token's session is known, reached, the assistant's own and open", (t) => sessions(t, world));
  await t.test('each has a budget of its own beside that of requests', (t) => budgets(t, world));
  await t.test('no token opens a socket', (t) => tokens(t, world));
});

/** Voice that needs a credential and has none. */
const locked = { provider: 'openai' };

type World = Awaited<ReturnType<typeof openWorld>>;

async function openWorld() {
  const house = await openWorkspace();
  const speaking = await house.assistant({ channels: { voice: true }, voice: locked });
  const silent = await house.assistant();
  const move = (id: string, verb: string) =>
    house.console(`/workspaces/${house.workspaceId}/assistants/${id}/${verb}`, { method: 'POST' });
  return { house, speaking, silent, move };
}

const endpoints = [
  ['/speech', { text: 'Hello' }],
  ['/transcription-tokens', {}],
] as const;

/** The refusals of a body and of a key by either endpoint. */
async function everyCheck(t: Test, { house, speaking, silent, move }: World): Promise<void> {
  const draft = await house.assistant({ channels: { voice: true }, voice: locked });
  await move(draft.id, 'unpublish');
  const off = await house.assistant();
  await move(off.id, 'disable');
  const { key: restricted } = await house.newKey({ assistant_ids: [speaking.id] });
  for (const [path, rest] of endpoints) {
    const is = async (expected: Refusal, body: unknown, key: string | null = house.key): Promise<void> =>
      isRefused(t, await house.ask(path, { body, key }), expected, `${path}: ${expected.message}`);
    await is(refusals.missingKey, '{', null);
    await is(refusals.malformedJson, '{');
    await is(refusals.notAnObject, '[]');
    await is(missingField('assistant_id'), rest);
    await is(wrongField('assistant_id'), { ...rest, assistant_id: 5 });
    await is(refusals.noAssistant, { ...rest, assistant_id: 'asst_none' }, restricted);
    await is(refusals.notPermitted, { ...rest, assistant_id: silent.id }, restricted);
    await is(refusals.notPublished, { ...rest, assistant_id: draft.id });
    await is(refusals.disabled, { ...rest, assistant_id: off.id });
    await is(refusals.voiceDisabled, { ...rest, assistant_id: silent.id });
    await is(refusals.voiceUnavailable, { ...rest, assistant_id: speaking.id });
  }
}

async function lengths(t: Test, { house, speaking }: World): Promise<void> {
  const speak = (text: unknown, format?: unknown) =>
    house.ask('/speech', { body: { assistant_id: speaking.id, text, format } });
  for (const character of ['a', '\u{1d4d0}']) {
    isRefused(t, await speak(character.repeat(1000)), refusals.voiceUnavailable, `1000 × ${character}`);
    isRefused(t, await speak(character.repeat(1001)), refusals.textTooLong, `1001 × ${character}`);
  }
  for (const absent of [undefined, null]) isRefused(t, await speak(absent), missingField('text'));
  for (const wrong of ['', 5, ['a'], '\ud83d', '…!', '\u{1f600}'.repeat(1000)])
    isRefused(t, await speak(wrong), wrongField('text'), JSON.stringify(wrong));
  for (const format of ['wav', 'pcm', 'mp3', 'opus', null])
    isRefused(t, await speak('a', format), refusals.voiceUnavailable, `as ${format}`);
  for (const format of ['cassette', 'aac', 'flac']) isRefused(t, await speak('a', format), wrongField('format'));
}

async function sessions(t: Test, { house, speaking, silent }: World): Promise<void> {
  const brief = await synthetic(house, 'tokens=1', { channels: { voice: true }, voice: locked, max_call_seconds: 1 });
  const { key: restricted } = await house.newKey({ assistant_ids: [speaking.id] });
  const mint = (assistantId: string, sessionId: string | null, key = house.key) =>
    house.ask('/transcription-tokens', { key, body: { assistant_id: assistantId, session_id: sessionId } });
  const [own, ended, other, short] = await Promise.all(
    [speaking, speaking, silent, brief].map(({ id }) => house.session(id)),
  );
  await end(house, ended.id);
  for (const sessionId of [null, own.id]) isRefused(t, await mint(speaking.id, sessionId), refusals.voiceUnavailable);
  isRefused(t, await mint(speaking.id, 'ses_none'), refusals.noSession);
  isRefused(
    t,
    await mint(silent.id, 'ses_none', restricted),
    refusals.noSession,
    'what is unknown comes before what is not permitted',
  );
  isRefused(t, await mint(speaking.id, other.id, restricted), refusals.notPermitted);
  isRefused(t, await mint(speaking.id, other.id), wrongField('session_id'));
  isRefused(t, await mint(speaking.id, ended.id), refusals.ended);
  let late: Answer;
  do late = await mint(brief.id, short.id);
  while (late.json.error.code === 'voice_unavailable');
  isRefused(t, late, refusals.expired);
}

async function budgets(t: Test, { house, speaking }: World): Promise<void> {
  const told = ({ headers }: Answer) => rateHeaders.slice(0, 2).map((name) => Number(headers.get(name)));
  for (const [path, rest] of endpoints) {
    const { key } = await house.newKey({ limits: { requests: 5, speech: 2, transcription_tokens: 2 } });
    const ask = () => house.ask(path, { key, body: { ...rest, assistant_id: speaking.id } });
    for (const left of [1, 0]) t.same(told(await ask()), [2, left], `${path}: the budget of its own`);
    const refused = await ask();
    isRefused(t, refused, limitedFor(Number(refused.headers.get('retry-after'))), path);
    t.same(told(refused), [2, 0]);
    t.ok(Number(refused.headers.get('retry-after')) > 30, 'refilled at its own ceiling, and one in debt');
    t.same(
      told(await house.ask('/assistants', { key })),
      [5, 2],
      `${path}: what it refused was not charged to requests`,
    );
    for (const left of [1, 0]) t.same(told(await house.ask('/assistants', { key })), [5, left]);
    t.same(told(await ask()), [5, 0], `${path}: the budget of requests comes first, and speaks when it refuses`);
  }
  const { key, limits } = await house.newKey({ limits: undefined });
  t.same(limits, { requests: 60, speech: 30, transcription_tokens: 10, tokens_per_day: null });
  for (const [index, [path, rest]] of endpoints.entries()) {
    t.same(
      told(await house.ask(path, { key, body: { ...rest, assistant_id: speaking.id } })),
      [
        [30, 29],
        [10, 9],
      ][index],
      `${path}: the default`,
    );
  }
}

async function tokens(t: Test, { house }: World): Promise<void> {
  for (const [query, protocols] of [
    ['?token=tok_none', []],
    ['', ['token.tok_none']],
    ['', []],
  ] as const) {
    isRefused(
      t,
      await refusedUpgrade(house.url, `/transcription${query}`, { protocols }),
      refusals.invalidToken,
      `${query} ${protocols}`,
    );
  }
  isRefused(t, await house.ask('/transcription?token=tok_none'), refusals.invalidToken, 'nor anything else');
  const { paths } = (await house.ask('/openapi.json', { key: null })).json;
  t.same(
    [paths['/transcription'].get.security, paths['/console/api/inspect'].get.security],
    [[{ token: [] }], [{ operator: [] }, { person: [] }]],
    'who may open which',
  );
}
