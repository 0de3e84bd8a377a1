/**
 * Takes at random moments of a turn, in one process and in two (contract 23, D1 and D2):
 * `PARLEY_TAKES=300 npm test -- test/api/takes.test.ts` for the full number.
 */
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { temporaryFolder } from '../folders.ts';
import { callOf, delta, done, eventStream } from '../providers/model/provider.ts';
import { patient } from '../run/speed.mjs';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';
import { countingTool, type CountingTool } from './counting-tool.ts';
import { openHouse, type House } from './house.ts';
import { cookieFor, linkFor, withCookie } from './signing.ts';
import { end, onProvider, say, transcriptOf, until } from './talk.ts';

const takes = Number(process.env['PARLEY_TAKES'] ?? 24);
const lacking = whyNoRedis();
const env = {
  PARLEY_ALLOW_PRIVATE_PROVIDERS: '1',
  PARLEY_SECRET: 'a-secret-of-the-tests-that-is-long-enough',
  PARLEY_OPERATOR_TOKEN: 'an-operator-token-of-the-tests-that-is-long-enough',
};

t.test('[D1] one process on LMDB', async (t) => {
  const store = { PARLEY_STORE: `lmdb:${join(await temporaryFolder(t), 'data')}` };
  await silent(t, [await openHouse(t, { env: { ...env, ...store } })]);
});

t.test('[D1] two processes on one Redis', lacking === null ? {} : { skip: lacking }, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const open = () => openHouse(t, { env: { ...env, PARLEY_STORE: redis.url } });
  const houses = [await open(), await open()];
  await silent(t, houses);
  await t.test('two people take at once: one of them has the session', (t) => atOnce(t, houses));
});

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Streams words, each with a pause before it, and a call in the middle of the first answer. */
async function speak(response: ServerResponse, isFirst: boolean): Promise<void> {
  await pause(4);
  response.writeHead(200, eventStream);
  for (let word = 0; word < 6 && !response.destroyed; word++) {
    response.write(delta(`word ${word} `));
    await pause(3);
  }
  if (isFirst) response.write(callOf('look_up'));
  response.write(delta('', isFirst ? 'tool_calls' : 'stop'));
  response.end(done);
}

const pathOf = ({ workspaceId }: House, id: string, verb: string): string =>
  `/workspaces/${workspaceId}/sessions/${id}/${verb}`;

/** The places of the events that an assistant's turn may have after the take. */
const ofAssistant = (events: readonly any[], from: number): any[] =>
  events
    .slice(from)
    .filter(
      ({ event, data }) => event.startsWith('turn.') || (event === 'message.created' && data.role === 'assistant'),
    );

async function silent(t: Test, houses: readonly House[]): Promise<void> {
  const [first] = houses as [House];
  const tool: CountingTool = await countingTool(t, first, {
    functions: [{ name: 'look_up', description: 'Looks up', parameters: { type: 'object' } }],
  });
  tool.answer = (response) =>
    void pause(6).then(() => response.writeHead(200, { 'content-type': 'application/json' }).end('{"done":true}'));
  const { assistant } = await onProvider(
    t,
    first,
    (response, seen: any) => void speak(response, !seen.body.messages.some(({ role }: any) => role === 'tool')),
    { tool_ids: [tool.id] },
  );
  let sent = 0;
  const ends = new Map<string, number>();
  for (let time = 0; time < takes; time++) {
    const [chatting, taking] = [houses[time % houses.length]!, houses[(time + 1) % houses.length]!];
    const { id } = await first.session(assistant.id);
    const chat = say(chatting, id);
    await pause((time * 7) % 70);
    const taken = await taking.console(pathOf(first, id, 'take'), { method: 'POST' });
    t.equal(taken.status, 200, taken.text);
    // A request that left before the take is read by the tool now.
    await tool.settled();
    const reached = tool.reached.length;
    const said = await transcriptOf(first, id);
    const events = await (await chat).rest();
    const last = events.at(-1)!;
    const how = last.event === 'turn.aborted' ? `aborted ${last.data.stop_reason}` : last.event;
    ends.set(how, (ends.get(how) ?? 0) + 1);
    t.match(how, /^(turn\.completed|aborted taken|message\.accepted)$/);
    await pause(25);
    const later = await transcriptOf(first, id);
    t.same(
      later.filter(({ role }) => role === 'assistant'),
      said.filter(({ role }) => role === 'assistant'),
      'not one character after the take',
    );
    t.equal(later.filter(({ role }) => role === 'user').length, 1, 'the message is there once');
    const reply = later.find(({ role }) => role === 'assistant');
    sent += reply?.tool_calls.length ?? 0;
    t.equal(tool.reached.length, reached, 'not one call leaves after the take');
    t.ok(reached <= sent, 'and none that is not stored');
    t.notOk(
      reply?.tool_calls.some(({ status }: any) => status === 'running'),
      'no call runs',
    );
    await end(first, id);
    const all = await (await first.stream(`/sessions/${id}/events?after=0`)).rest();
    const at = all.findIndex(({ event }) => event === 'attendance.changed');
    t.same(ofAssistant(all, at), [], 'nothing of the assistant has a later number');
    t.same(
      all.map(({ id: number }) => Number(number)),
      all.map((_, index) => index + 1),
    );
  }
  t.comment(JSON.stringify([...ends]));
}

async function atOnce(t: Test, houses: readonly House[]): Promise<void> {
  const [one, other] = houses as [House, House];
  const cookie = await cookieFor(other, await linkFor(other, 'Ann'));
  const assistant = await one.assistant();
  for (let time = 0; time < 10; time++) {
    const { id } = await one.session(assistant.id);
    const answers = await Promise.all([
      one.console(pathOf(one, id, 'take'), { method: 'POST' }),
      withCookie(other, cookie, pathOf(one, id, 'take'), { method: 'POST' }),
    ]);
    t.same(new Set(answers.map(({ status }) => status)), new Set([200, 409]));
    const winner = answers.find(({ status }) => status === 200)!.json.attendance.person.name;
    await until(async () => {
      const { attendance } = (await other.ask(`/sessions/${id}`, { key: one.key })).json;
      return attendance.person?.name === winner;
    }, patient(5));
  }
}
