/** The checkers of the experiments find faults: each is given a faulty outcome. */
import t from 'tap';
import { Trial, type Experiment } from './experiment.ts';
import { outputOf } from './listener.ts';
import { repeat } from './run.ts';
import { problemOf } from './strict-provider.ts';
import { tableOf } from './table.ts';
import { problemsOf } from './w1-events.ts';
import type { Received } from '../webhook-receiver.ts';
import { begins, wordsOf } from './words.ts';

t.test('words tell whose they are, where they begin and what is missing', async (t) => {
  const whole = wordsOf('a', 30);
  for (let length = 0; length <= whole.length; length++) t.ok(begins('a', whole.slice(0, length)));
  t.notOk(begins('b', whole), 'of somebody else');
  t.notOk(begins('a', whole.slice(4)), 'not from the beginning');
  t.notOk(begins('a', wordsOf('a', 5) + whole), 'twice');
  t.notOk(begins('a', wordsOf('a', 5) + wordsOf('a', 7).slice(wordsOf('a', 6).length)), 'with a hole');
  t.notOk(begins('a', wordsOf('a', 5) + wordsOf('b', 6).slice(wordsOf('b', 5).length)), 'with a word of another');
});

t.test("the text seen includes half an event's", async (t) => {
  const event = (text: string): string => `event: message.delta\nid: 7\ndata: ${JSON.stringify({ text })}\n\n`;
  const stream = `event: turn.started\nid: 0\ndata: {"turn_id":"x"}\n\n${event('a "quoted" \\ line\n')}${event('b😀')}`;
  t.equal(outputOf(stream), 'a "quoted" \\ line\nb😀');
  for (let cut = 0; cut <= stream.length; cut++)
    t.ok('a "quoted" \\ line\nb😀'.startsWith(outputOf(stream.slice(0, cut))));
  t.equal(outputOf(stream.slice(0, -6)), 'a "quoted" \\ line\nb');
});

t.test('an event without an end, without a signature, with other bytes or with another id is found', async (t) => {
  const received = (turnId: string, over: Partial<Received> = {}): Received => ({
    id: `dlv_${turnId}`,
    text: turnId,
    event: { type: 'turn.completed', timestamp: '', data: { session_id: 's', turn_id: turnId, status: 'completed' } },
    headers: {},
    isSigned: true,
    answered: 204,
    ...over,
  });
  const ends = new Map([['s', ['a completed', 'b completed']]]);
  const problems = (...all: Received[]): string[] => problemsOf(all, ends);
  t.same(problems(received('a'), received('b'), received('a')), []);
  t.same(problemsOf([received('c')], new Map()), [], 'a session without known events');
  t.match(problems(received('a'), received('c')), ['s: the event c completed has no stored end']);
  t.match(problems(received('a', { isSigned: false })), ['dlv_a is not signed']);
  t.match(problems(received('a'), received('a', { text: 'x' })), ['dlv_a came with other bytes']);
  t.match(problems(received('a'), received('a', { id: 'dlv_x' })), ['s a completed: came as dlv_a and as dlv_x']);
});

t.test('a strict provider refuses a history that is not whole', async (t) => {
  const user = { role: 'user', content: 'Go' };
  const call = (id: string) => ({ id, type: 'function', function: { name: 'act', arguments: '{}' } });
  const asks = { role: 'assistant', content: null, tool_calls: [call('a'), call('b')] };
  const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: '' });
  const openai = (...messages: object[]): string | null => problemOf('/v1/chat/completions', { messages });
  t.equal(openai(user, asks, result('b'), result('a'), user), null);
  for (const wrong of [
    [user, asks, result('a'), user],
    [user, asks],
    [user, asks, result('a'), result('a'), result('b')],
    [user, result('a')],
    [user, { ...asks, tool_calls: [call('a'), call('a')] }, result('a')],
    [user, { role: 'assistant', content: '' }, user],
  ]) {
    t.type(openai(...wrong), 'string');
  }
  const use = (id: string) => ({ type: 'tool_use', id, name: 'act', input: {} });
  const uses = { role: 'assistant', content: [use('a'), use('b')] };
  const results = (...ids: string[]) => ({
    role: 'user',
    content: [
      ...ids.map((id) => ({ type: 'tool_result', tool_use_id: id, content: '' })),
      { type: 'text', text: 'Go' },
    ],
  });
  const anthropic = (messages: object[], more: object = { tools: [{}] }): string | null =>
    problemOf('/v1/messages', { messages, ...more });
  t.equal(anthropic([user, uses, results('a', 'b')]), null);
  t.equal(anthropic([user], {}), null);
  for (const wrong of [
    [user, uses, results('a')],
    [user, uses],
    [user, uses, user],
    [user, uses, results('a', 'b', 'c')],
    [results('a')],
    [uses, results('a', 'b')],
    [user, user],
    [user, { role: 'assistant', content: ' ' }, user],
  ])
    t.type(anthropic(wrong), 'string');
  t.match(anthropic([user, uses, results('a', 'b')], {}), /must define tools/);
  t.match(anthropic([user], { tool_choice: {} }), /tool_choice/);
});

t.test('a violation fails its repetition, what throws is one, and the others go on with a new scene', async (t) => {
  let opened = 0;
  let closed = 0;
  const experiment: Experiment = {
    promise: 'P0',
    name: 'check',
    does: 'nothing',
    stores: ['lmdb'],
    abreast: { lmdb: 1, redis: 1 },
    open: async (owner) => {
      opened++;
      owner.teardown(async () => closed++);
      return async (trial) => {
        trial.took('waiting', trial.seed, 12);
        trial.count('things', 2);
        if (trial.seed === 11) throw new Error('unexpected');
        trial.must(trial.seed !== 13, 'thirteen');
      };
    },
  };
  const seen: Trial[] = [];
  const lenient = await repeat(experiment, 'lmdb', {
    times: 5,
    seed: 10,
    strict: false,
    onTrial: (trial) => seen.push(trial),
  });
  t.same(
    lenient.failed.map(({ seed }) => seed),
    [11, 13],
  );
  t.match(lenient.failed[0]!.wrong, [/unexpected/]);
  t.same(lenient.failed[1]!.wrong, ['thirteen']);
  t.same(
    seen.map(({ seed }) => seed),
    [10, 11, 12, 13, 14],
  );
  t.same([opened, closed, lenient.done], [3, 3, 5], 'a scene anew after each that failed');
  const strict = await repeat(experiment, 'lmdb', { times: 5, seed: 10, strict: true });
  t.same(
    strict.failed.map(({ seed }) => seed),
    [11, 13, 14],
    'lateness counts where time is what is asked',
  );
  const seeds: number[] = [];
  const once = new AbortController();
  const cut = await repeat(experiment, 'lmdb', {
    times: 5,
    seed: 30,
    strict: false,
    stop: once.signal,
    onTrial: ({ seed }) => void (seeds.push(seed) === 2 && once.abort()),
  });
  t.same([seeds, cut.done, cut.interrupted], [[30, 31], 2, true], 'who is stopped tells what was done');
  const signal = new AbortController();
  const dies: Experiment = {
    ...experiment,
    open: async () => async () => Promise.reject((signal.abort(), new Error('the server has got the signal too'))),
  };
  const hit = await repeat(dies, 'lmdb', { times: 5, seed: 1, strict: true, stop: signal.signal });
  t.same([hit.done, hit.failed, hit.interrupted], [0, [], true], 'a repetition that the signal hits has not failed');
  t.match(tableOf([cut, hit]), /2 times, interrupted .*\n.*0 times, interrupted\n0 hold, 0 failed, 2 interrupted$/);
  t.match(tableOf([{ ...strict, interrupted: true }]), /FAILED.*\n0 hold, 1 failed$/);
  const table = tableOf([strict, { ...lenient, failed: [], skipped: 'no such thing here' }]);
  t.match(table, /5 times, FAILED with seeds 11, 13, 14 \(at most 14 ms waiting; 10 things\)/);
  t.match(table, /skipped: no such thing here\n0 hold, 1 failed, 1 skipped$/);
  t.equal(new Trial(5).random.next(), new Trial(5).random.next(), 'a seed draws the same again');
});
