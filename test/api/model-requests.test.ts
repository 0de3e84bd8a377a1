/** The history that a model is sent: no turn of the past keeps the next one from its answer (contract 7). */
import t, { type Test } from 'tap';
import {
  alternation,
  noEmpty,
  noSystem,
  refuse,
  sentCharacters,
  tooLong,
  unknown,
  unless,
  window,
} from '../providers/model/strict.ts';
import { delta, done, eventStream } from '../providers/model/provider.ts';
import { edge, openHouse, textOf, type House } from './house.ts';
import { abort, inTrials, onProvider, say, sayInVain, until } from './talk.ts';

t.test(edge, async (t) => {
  const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1', PARLEY_LOG: 'info' } });
  await t.test('strict templates: a greeting, and turns without an answer', (t) => strict(t, house));
  await t.test('the history that an assistant allows', (t) => bounded(t, house));
  await t.test('a window that is smaller than the history', (t) => small(t, house));
});

const settled = async (house: House, id: string, message: string): Promise<string> =>
  textOf(await (await say(house, id, message)).rest());

async function strict(t: Test, house: House): Promise<void> {
  const taking = unless(unknown(['stream_options', 'temperature'], false), noSystem, alternation, noEmpty);
  const { provider, assistant } = await onProvider(t, house, taking, {
    greeting: 'Welcome.',
    model: { system_prompt: 'Be kind.', temperature: 0.5 },
  });
  const { id } = await house.session(assistant.id);
  t.equal(await settled(house, id, 'one'), 'ok', 'the first turn');
  const turn = async (message: string, about: string, requests = 1): Promise<void> => {
    provider.answer = taking;
    const before = provider.requests.length;
    t.equal(await settled(house, id, message), 'ok', about);
    t.equal(provider.requests.length - before, requests, `${about}: requests`);
  };
  await turn('two', 'the second, which confirms what was refused without a reason', 2);
  provider.answer = (response) => void response.writeHead(200, eventStream).end(delta('', 'stop') + done);
  t.equal(await settled(house, id, 'an empty answer'), '');
  await turn('three', 'behind an empty answer');
  provider.answer = (response) => void response.writeHead(200, eventStream).write(delta('cut'));
  const stream = await say(house, id, 'aborted');
  await abort(house, id, stream.headers.get('x-turn-id')!);
  await stream.rest();
  await turn('four', 'behind an aborted answer');
  provider.answer = (response) => {
    response.writeHead(200, eventStream);
    response.write(delta('cut'), () => response.destroy());
  };
  await settled(house, id, 'failed');
  await turn('five', 'behind a failed answer');
  provider.answer = (response) => refuse(response, { status: 400, body: '{}' });
  t.equal((await sayInVain(house, id, 'refused')).status, 503);
  await turn('six', 'behind a refused one');
}

async function bounded(t: Test, opened: House): Promise<void> {
  // A trial gets each change of the draft at its next turn.
  const house = inTrials(opened);
  const { provider, assistant } = await onProvider(t, house, unless(), {
    model: { system_prompt: 'x'.repeat(40_000), history_tokens_max: 100 },
  });
  const { id } = await house.session(assistant.id);
  const inside = `/workspaces/${house.workspaceId}`;
  const leftOut = async () => (await house.console(`${inside}/sessions/${id}`)).json.history_left_out;
  const sent = () => provider.requests.at(-1)!.body.messages.length - 1;
  for (let turns = 0; turns < 3; turns++) await settled(house, id, 'y'.repeat(100));
  t.equal(sent(), 5, 'the system prompt does not count');
  t.equal(await leftOut(), undefined);
  await settled(house, id, '日'.repeat(99));
  t.same([sent(), await leftOut()], [1, 6], 'each of them is a token');
  t.ok(
    await until(() =>
      /"messages":6,[^\n]*"msg":"The conversation exceeds the history budget: the model was sent its newest messages only\."/.test(
        house.stdout(),
      ),
    ),
    'in the log',
  );
  const change = (tokens: number | null) =>
    house.console(`${inside}/assistants/${assistant.id}`, {
      method: 'PATCH',
      body: { model: { history_tokens_max: tokens } },
    });
  await change(1);
  await settled(house, id, 'z');
  t.same([sent(), await leftOut()], [1, 8], 'the message itself is always sent');
  await change(null);
  await settled(house, id, 'z');
  t.same([sent(), await leftOut()], [11, undefined], 'all of it, and the number is gone');
}

async function small(t: Test, house: House): Promise<void> {
  const { provider, assistant } = await onProvider(t, house, unless(window(1000, tooLong['llama.cpp']!)), {});
  const { id } = await house.session(assistant.id);
  const counts: number[] = [];
  for (let turns = 0; turns < 12; turns++) {
    const before = provider.requests.length;
    t.equal(await settled(house, id, 'y'.repeat(200)), 'ok', `turn ${turns + 1}`);
    counts.push(provider.requests.length - before);
  }
  t.ok(sentCharacters(provider.requests.at(-1)!.body) <= 1000);
  t.same(
    counts.filter((count) => count > 1),
    [2],
    'one turn pays for it',
  );
  t.ok((await house.console(`/workspaces/${house.workspaceId}/sessions/${id}`)).json.history_left_out > 0);
}
