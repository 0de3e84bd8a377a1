/** A version is rolled out to a share of sessions, promoted, ended and halted (contract 20). */
import t, { type Test } from 'tap';
import { rolloutPlace } from '../../src/host/release.ts';
import { edge, type House, openWorkspace, textOf } from './house.ts';
import { isRefused, refusals, unrated, wrongField } from './refusal.ts';
import { assistantPath, operate, say, sayInVain, sessionOf, synthetic, transcriptOf } from './talk.ts';

t.test(edge, async (t) => {
  const house = await openWorkspace();
  await t.test('a session gets the candidate by the hash, and a higher percent takes nobody out', (t) =>
    shares(t, house),
  );
  await t.test('all sessions of a visitor get the same version', (t) => visitors(t, house));
  await t.test('clients of other protocols get the candidate as well', (t) => fronts(t, house));
  await t.test('a draft is rolled out as the next version', (t) => draft(t, house));
  await t.test('a rollout is refused without a version, of the current one, and with wrong fields', (t) =>
    refusedRollouts(t, house),
  );
  await t.test('the candidate is promoted, retired, replaced and published', (t) => ends(t, house));
  await t.test('the turn that exceeds the rule halts the rollout', (t) => halts(t, house));
  await t.test('a withdrawn turn counts as failed', (t) => withdrawn(t, house));
  await t.test('sessions of a retired or halted candidate move with their next turn', (t) => moved(t, house));
  await t.test('each turn of a following assistant takes the version of a new session', (t) => follows(t, house));
  await t.test('a recall moves every open session with its next turn', (t) => recalled(t, house));
  await t.test('sessions, turns and feedback are counted by version', (t) => counted(t, house));
  await t.test('200 versions are kept besides those in use', (t) => pruned(t, house));
  await t.test("an assistant's history has the steps of its rollouts", (t) => history(t, house));
});

const release = (house: House, id: string, verb: string, body?: object) =>
  operate(house, 'POST', assistantPath(house, id, `/${verb}`), body ?? {});
const model = (name: string) => ({ model: { provider: 'synthetic', name } });

/** An assistant with the versions 1, which is current, and 2. */
async function twoVersions(house: House, fields: object = {}): Promise<string> {
  const { id } = await synthetic(house, 'text=one,tokens=1', fields);
  await house.revise(id, model('text=two,tokens=1'));
  await release(house, id, 'rollback');
  return id;
}

async function reply(house: House, sessionId: string): Promise<string> {
  return textOf(await (await say(house, sessionId)).rest()).trim();
}

/** A session on the version; all sessions of an assistant are asked for one after another until one is. */
async function sessionOn(house: House, id: string, version: number): Promise<any> {
  for (;;) {
    const session = await house.session(id);
    if (session.assistant_version === version) return session;
  }
}

async function shares(t: Test, house: House): Promise<void> {
  const id = await twoVersions(house);
  const versions = new Map<string, number>();
  for (const percent of [1, 30, 99]) {
    const view = await release(house, id, 'rollout', { version: 2, percent });
    t.match(view, { version: 1, candidate: { version: 2, percent, halt: null, state: 'rolling', turns: 0 } });
    for (const [session, version] of versions)
      t.equal((await sessionOf(house, session)).assistant_version, version, 'a session keeps its version');
    for (let count = 0; count < 20; count++) {
      const session = await house.session(id);
      const expected = rolloutPlace(id, 2, session.id) < percent ? 2 : 1;
      t.equal(session.assistant_version, expected, `${percent} percent`);
      versions.set(session.id, expected);
    }
  }
  t.same(new Set(versions.values()), new Set([1, 2]));
  const [session] = [...versions].find(([, version]) => version === 2)!;
  t.equal(await reply(house, session), 'two');
  t.equal((await transcriptOf(house, session)).at(-1).assistant_version, 2);
}

async function visitors(t: Test, house: House): Promise<void> {
  const slug = 'rollouts';
  const id = await twoVersions(house, { link: { slug }, channels: { link: true } });
  await release(house, id, 'rollout', { version: 2, percent: 50 });
  const versions = new Map<string, number>();
  const opened = async (token: string): Promise<number> => {
    const { status, json } = await house.ask(`/p/${slug}/sessions`, { key: token, body: {} });
    t.equal(status, 201);
    return json.assistant_version;
  };
  for (let visitor = 0; visitor < 16; visitor++) {
    const { json } = await house.ask(`/p/${slug}/visitors`, { key: null, body: { channel: 'link' } });
    const version = await opened(json.token);
    t.same([await opened(json.token), await opened(json.token)], [version, version], 'a visitor keeps the version');
    versions.set(json.token, version);
  }
  t.same(new Set(versions.values()), new Set([1, 2]), 'visitors of both');
  await release(house, id, 'rollout', { version: 2, percent: 99 });
  for (const [token, version] of versions) if (version === 2) t.equal(await opened(token), 2, 'nobody is taken out');
}

async function fronts(t: Test, house: House): Promise<void> {
  const id = await twoVersions(house, { alias: 'rolled' });
  await release(house, id, 'rollout', { version: 2, percent: 99 });
  const said: string[] = [];
  for (let count = 0; count < 10; count++) {
    const body = { model: 'rolled', messages: [{ role: 'user', content: 'Hello' }] };
    said.push((await house.ask('/v1/chat/completions', { body })).json.choices[0].message.content.trim());
  }
  t.ok(said.includes('two'), said.join());
  const [one, two] = (await operate(house, 'GET', assistantPath(house, id, '/versions?order=asc'))).data;
  const counted = (word: string) => said.filter((each) => each === word).length;
  t.same([one.sessions, two.sessions], [counted('one'), counted('two')]);
  t.same([one.turns, two.turns], [counted('one'), counted('two')]);
}

async function draft(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'text=one,tokens=1');
  await operate(house, 'PATCH', assistantPath(house, id), { greeting: 'Two' });
  const stale = await house.console(assistantPath(house, id, '/rollout'), {
    method: 'POST',
    headers: { 'if-match': '"other"' },
    body: { version: 'draft', percent: 50 },
  });
  isRefused(t, stale, refusals.draftChanged, 'another draft');
  const halt = { failed_percent: 5, after_turns: 50 };
  const begun = await release(house, id, 'rollout', { version: 'draft', percent: 10, halt });
  t.match(begun, { version: 1, draft: { changed: true }, candidate: { version: 2, percent: 10, halt } });
  const again = await release(house, id, 'rollout', { version: 'draft', percent: 20 });
  t.match(again, { candidate: { version: 2, percent: 20, halt } }, 'the draft that equals the candidate');
  t.equal((await operate(house, 'GET', assistantPath(house, id, '/versions'))).data.length, 2);
  t.match((await release(house, id, 'rollout', { version: 2, percent: 20, halt: null })).candidate, { halt: null });
  const published = await release(house, id, 'publish');
  t.match(published, { version: 2, candidate: null, draft: { changed: false } }, 'a publication promotes it');
  const [two, one] = (await operate(house, 'GET', assistantPath(house, id, '/versions'))).data;
  t.same([two.number, two.state, one.state], [2, 'current', 'retired']);
  const same = await house.console(assistantPath(house, id, '/rollout'), { body: { version: 'draft', percent: 10 } });
  isRefused(t, same, unrated(wrongField('version')), 'a draft that equals the current version');
}

async function refusedRollouts(t: Test, house: House): Promise<void> {
  const made = await operate(house, 'POST', `/workspaces/${house.workspaceId}/assistants`, { name: 'Draft' });
  const post = (id: string, verb: string, body: object = {}) =>
    house.console(assistantPath(house, id, `/${verb}`), { body });
  for (const version of ['draft', 1])
    isRefused(
      t,
      await post(made.id, 'rollout', { version, percent: 5 }),
      unrated(refusals.noVersion),
      'no version yet',
    );
  isRefused(t, await post(made.id, 'recall'), unrated(refusals.noVersion), 'a recall before the first version');
  const id = await twoVersions(house);
  isRefused(
    t,
    await post(id, 'rollout', { version: 1, percent: 5 }),
    unrated(wrongField('version')),
    'the current one',
  );
  isRefused(t, await post(id, 'rollout', { version: 3, percent: 5 }), unrated(refusals.noVersion), 'an unknown one');
  for (const verb of ['rollout/promote', 'rollout/end'])
    isRefused(t, await post(id, verb), unrated(refusals.noVersion), `${verb} without a candidate`);
  const wrong: [field: string, body: object][] = [
    ['percent', { percent: 0 }],
    ['percent', { percent: 100 }],
    ['percent', { percent: 1.5 }],
    ['version', { version: 'current' }],
    ['version', { version: 0 }],
    ['halt.after_turns', { halt: { failed_percent: 5, after_turns: 9 } }],
    ['halt.failed_percent', { halt: { failed_percent: 0, after_turns: 10 } }],
    ['halt.failed_percent', { halt: { failed_percent: 101, after_turns: 10 } }],
  ];
  for (const [field, body] of wrong)
    isRefused(
      t,
      await post(id, 'rollout', { version: 2, percent: 5, ...body }),
      unrated(wrongField(field)),
      JSON.stringify(body),
    );
  t.equal((await operate(house, 'GET', assistantPath(house, id))).candidate, null);
  isRefused(t, await post('asst_none', 'recall'), unrated(refusals.noAssistant), 'an unknown assistant');
}

async function ends(t: Test, house: House): Promise<void> {
  const id = await twoVersions(house);
  const states = async () =>
    (await operate(house, 'GET', assistantPath(house, id, '/versions?order=asc'))).data.map(({ state }: any) => state);
  await release(house, id, 'rollout', { version: 2, percent: 10 });
  t.same(await states(), ['current', 'candidate']);
  t.match(await release(house, id, 'rollout/end'), { version: 1, candidate: null });
  t.same(await states(), ['current', 'retired']);
  await release(house, id, 'rollout', { version: 2, percent: 10 });
  t.match(await release(house, id, 'rollout/promote'), { version: 2, candidate: null });
  t.same(await states(), ['retired', 'current']);
  t.equal((await release(house, id, 'rollback')).version, 1, 'the version before the promoted one');
  await release(house, id, 'rollout', { version: 2, percent: 10 });
  await operate(house, 'PATCH', assistantPath(house, id), { greeting: 'Three' });
  t.match(await release(house, id, 'rollout', { version: 'draft', percent: 7 }), { candidate: { version: 3 } });
  t.same(await states(), ['current', 'retired', 'candidate'], 'another candidate retires the first');
  t.match(await release(house, id, 'rollback', { version: 2 }), { version: 2, candidate: null }, 'a rollback ends it');
  await release(house, id, 'rollout', { version: 1, percent: 7 });
  await operate(house, 'PATCH', assistantPath(house, id), { greeting: 'Four' });
  t.match(await release(house, id, 'publish'), { version: 4, candidate: null }, 'a publication ends it');
  t.same(await states(), ['retired', 'retired', 'retired', 'current']);
}

async function halts(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'text=one,tokens=1');
  await house.revise(id, model('text=two,tokens=2,fail_at=1'));
  await release(house, id, 'rollback');
  const halt = { failed_percent: 50, after_turns: 10 };
  await release(house, id, 'rollout', { version: 2, percent: 99, halt });
  const candidate = async () => (await operate(house, 'GET', assistantPath(house, id))).candidate;
  for (let turns = 1; turns <= 10; turns++) {
    t.match(await candidate(), { state: 'rolling', turns: turns - 1, failed_turns: turns - 1 });
    const session = await sessionOn(house, id, 2);
    await reply(house, session.id);
  }
  t.match(await candidate(), { version: 2, state: 'halted', turns: 10, failed_turns: 10 });
  for (let count = 0; count < 5; count++) t.equal((await house.session(id)).assistant_version, 1, 'no new session');
  const again = await release(house, id, 'rollout', { version: 2, percent: 99 });
  t.match(again.candidate, { state: 'rolling', turns: 0, failed_turns: 0, halt }, 'it rolls again, counted from zero');
  t.match(await release(house, id, 'rollout/end'), { candidate: null });
}

async function withdrawn(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'text=one,tokens=1');
  await house.revise(id, model('text=two,tokens=2,fail_at=0'));
  await release(house, id, 'rollback');
  await release(house, id, 'rollout', { version: 2, percent: 99, halt: { failed_percent: 99, after_turns: 10 } });
  const session = await sessionOn(house, id, 2);
  for (let count = 0; count < 10; count++) t.equal((await sayInVain(house, session.id)).status, 503);
  const view = await operate(house, 'GET', assistantPath(house, id));
  t.match(view.candidate, { state: 'halted', turns: 10, failed_turns: 10 });
  const two = await operate(house, 'GET', assistantPath(house, id, '/versions/2'));
  t.match(two, { turns: 0, failed_turns: 0 }, 'no turn was sealed');
  t.equal(await reply(house, session.id), 'one', 'the session is on the current version');
}

async function moved(t: Test, house: House): Promise<void> {
  const id = await twoVersions(house);
  await release(house, id, 'rollout', { version: 2, percent: 99 });
  const session = await sessionOn(house, id, 2);
  const other = await sessionOn(house, id, 2);
  t.equal(await reply(house, session.id), 'two');
  await release(house, id, 'rollout/end');
  t.equal((await sessionOf(house, session.id)).assistant_version, 2, 'not before its next turn');
  t.equal(await reply(house, session.id), 'one');
  t.equal((await sessionOf(house, session.id)).assistant_version, 1);
  t.equal((await transcriptOf(house, session.id)).at(-1).assistant_version, 1);
  await release(house, id, 'rollout', { version: 2, percent: 99 });
  t.equal(await reply(house, other.id), 'two', 'a session of the candidate that is rolled out again');
  await release(house, id, 'rollout/promote');
  t.equal(await reply(house, session.id), 'one', 'a pinned session keeps its version');
  t.equal(await reply(house, other.id), 'two');
}

async function follows(t: Test, house: House): Promise<void> {
  const id = await twoVersions(house, { session_policy: 'follow' });
  const session = await house.session(id);
  t.equal(await reply(house, session.id), 'one');
  await release(house, id, 'rollback', { version: 2 });
  t.equal(await reply(house, session.id), 'two');
  await release(house, id, 'rollout', { version: 1, percent: 50 });
  const place = rolloutPlace(id, 1, session.id);
  t.equal(await reply(house, session.id), place < 50 ? 'one' : 'two');
  await release(house, id, 'rollout', { version: 1, percent: 99 });
  t.equal(await reply(house, session.id), place < 99 ? 'one' : 'two');
  await release(house, id, 'rollout/end');
  t.equal(await reply(house, session.id), 'two');
  const view = await operate(house, 'PATCH', assistantPath(house, id), { session_policy: 'pin' });
  t.match(view, { session_policy: 'pin', version: 2 });
  await release(house, id, 'rollback', { version: 1 });
  t.equal(await reply(house, session.id), 'two', 'a policy is effective at once');
  const wrong = await house.console(assistantPath(house, id), { method: 'PATCH', body: { session_policy: 'other' } });
  isRefused(t, wrong, unrated(wrongField('session_policy')), 'another policy');
}

async function recalled(t: Test, house: House): Promise<void> {
  const id = await twoVersions(house);
  const [early, idle] = [await house.session(id), await house.session(id)];
  await release(house, id, 'rollback', { version: 2 });
  t.equal(await reply(house, early.id), 'one');
  t.equal((await release(house, id, 'recall')).version, 2);
  t.equal((await sessionOf(house, early.id)).assistant_version, 1, 'not before its next turn');
  t.equal(await reply(house, early.id), 'two');
  t.equal((await sessionOf(house, early.id)).assistant_version, 2);
  await release(house, id, 'rollback', { version: 1 });
  const later = await house.session(id);
  await release(house, id, 'rollback', { version: 2 });
  t.equal(await reply(house, later.id), 'one', 'a session that began after the recall');
  t.equal(await reply(house, early.id), 'two');
  t.equal(await reply(house, idle.id), 'two', 'its first turn since the recall');
}

async function counted(t: Test, house: House): Promise<void> {
  const id = await twoVersions(house);
  await operate(house, 'POST', assistantPath(house, id, '/trials'));
  const session = await house.session(id);
  await house.session(id);
  for (let turn = 0; turn < 3; turn++) await reply(house, session.id);
  await house.revise(id, model('text=three,tokens=2,fail_at=1'));
  const other = await house.session(id);
  await reply(house, other.id);
  const turns = (await transcriptOf(house, session.id)).filter(({ role }) => role === 'assistant');
  const rate = (index: number, rating: string) =>
    house.ask(`/sessions/${session.id}/turns/${turns[index].turn_id}/feedback`, { method: 'PUT', body: { rating } });
  await rate(0, 'up');
  await rate(1, 'up');
  await rate(1, 'down');
  const versions = async () => (await operate(house, 'GET', assistantPath(house, id, '/versions?order=asc'))).data;
  const [one, two, three] = await versions();
  t.match(one, { sessions: 2, turns: 3, failed_turns: 0, feedback_up: 1, feedback_down: 1 });
  t.match(two, { sessions: 0, turns: 0, failed_turns: 0, feedback_up: 0, feedback_down: 0 });
  t.match(three, { sessions: 1, turns: 1, failed_turns: 1 });
  await house.ask(`/sessions/${session.id}/turns/${turns[0].turn_id}/feedback`, { method: 'DELETE' });
  t.match(await operate(house, 'GET', assistantPath(house, id, '/versions/1')), { feedback_up: 0, feedback_down: 1 });
}

async function pruned(t: Test, house: House): Promise<void> {
  const id = await twoVersions(house);
  const [first, ended] = [await house.session(id), await house.session(id)];
  await release(house, id, 'rollback', { version: 2 });
  const second = await house.session(id);
  await house.ask(`/sessions/${ended.id}/end`, { method: 'POST' });
  await house.ask(`/sessions/${second.id}/end`, { method: 'POST' });
  for (let number = 3; number <= 204; number++) await house.revise(id, { greeting: `${number}` });
  await release(house, id, 'rollout', { version: 6, percent: 1 });
  await house.revise(id, { greeting: '205' });
  const numbers: number[] = [];
  for (let after: string | null = ''; after !== null;) {
    const page: any = await operate(
      house,
      'GET',
      assistantPath(house, id, `/versions?order=asc&limit=100${after && `&after=${after}`}`),
    );
    numbers.push(...page.data.map(({ number }: any) => number));
    after = page.next_cursor;
  }
  // Version 5 is the oldest of 200 without 1 and 205; the candidate that ended with the last publication is kept once.
  t.same(numbers, [1, ...Array.from({ length: 201 }, (_, index) => index + 5)]);
  t.equal(await reply(house, first.id), 'one', 'an open session keeps its version');
  const gone = await house.console(assistantPath(house, id, '/rollback'), { body: { version: 2 } });
  isRefused(t, gone, unrated(refusals.noVersion), 'a version that was dropped');
}

async function history(t: Test, house: House): Promise<void> {
  const { id } = await synthetic(house, 'text=one,tokens=1');
  await house.revise(id, model('text=two,tokens=2,fail_at=1'));
  await release(house, id, 'rollback');
  await release(house, id, 'rollout', { version: 2, percent: 99, halt: { failed_percent: 1, after_turns: 10 } });
  for (let turns = 0; turns < 10; turns++) await reply(house, (await sessionOn(house, id, 2)).id);
  await release(house, id, 'rollout/end');
  await release(house, id, 'recall');
  const { data } = await operate(house, 'GET', assistantPath(house, id, '/history?order=asc&limit=100'));
  const steps = data.map(({ event, from, to, by }: any) => [event, from, to, by?.kind ?? null]);
  t.same(steps.slice(-5), [
    ['rollback', 'released', 'released', 'operator'],
    ['rollout', 'released', 'rolling', 'operator'],
    ['halt', 'rolling', 'halted', null],
    ['end', 'halted', 'released', 'operator'],
    ['recall', 'released', 'released', 'operator'],
  ]);
  t.match(data.at(-4), { data: { version: 2, percent: 99 } });
  t.ok(
    data.every(({ seq }: any, index: number) => seq === index + 1),
    'each step has its number',
  );
  const publish = data.findLast(({ event }: any) => event === 'publish');
  t.match(publish.outcomes.at(-1), { type: 'released', version: 2 });
}
