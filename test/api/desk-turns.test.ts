/** The desk while a turn is in flight, and the tools that it bounds (contract 23). */
import t, { type Test } from 'tap';
import { callOf, delta, done, eventStream } from '../providers/model/provider.ts';
import { countingTool } from './counting-tool.ts';
import { edge, openWorkspace, type Answer, type House, type Stream, type StreamEvent } from './house.ts';
import { abort, assistantPath, begin, end, onProvider, refused, say, synthetic, transcriptOf } from './talk.ts';

const desk = { enabled: true, while_waiting: 'silent', texts: { waiting: 'Please wait.', joined: '{{person.name}}.' } };
const slow = 'tokens=2000,delay_ms=5';

const take = (house: House, id: string): Promise<Answer> =>
  house.console(`/workspaces/${house.workspaceId}/sessions/${id}/take`, { method: 'POST' });
const askFor = (house: House, id: string): Promise<Answer> => house.ask(`/sessions/${id}/ask`, { method: 'POST' });

const short = ({ id, event, data }: StreamEvent): string =>
  `${id} ${event} ${data.role ?? data.status ?? data.attendance?.state ?? ''}`.trim();
const next = async (events: Stream, count: number): Promise<string[]> => {
  const found: string[] = [];
  while (found.length < count) {
    const event = await events.next();
    if (event === undefined) return found;
    if (event.event !== '') found.push(short(event));
  }
  return found;
};

t.test(edge, async (t) => {
  const house = await openWorkspace();
  await t.test('a change during a turn reaches the stream at once, before the end of the turn', (t) =>
    changesDuring(t, house),
  );
  await t.test('a reader may resume at each of its numbers', (t) => resumes(t, house));
  await t.test('a take cancels the calls that would wait for the caller', (t) => cancelsWaiting(t, house));
  await t.test('no tool gets a function of the name of the one that asks for a person', (t) => refusesName(t, house));
});

/** A session whose turn is in flight and has output, and the readers of both. */
async function speaking(house: House): Promise<{ id: string; stream: Stream; events: Stream }> {
  const assistant = await synthetic(house, slow, { desk });
  const { id, stream } = await begin(house, assistant.id);
  for (let event = await stream.next(); event?.event !== 'message.delta';) event = await stream.next();
  return { id, stream, events: await house.stream(`/sessions/${id}/events?after=0`) };
}

async function changesDuring(t: Test, house: House): Promise<void> {
  const { id, stream, events } = await speaking(house);
  t.same(await next(events, 2), ['1 message.created user', '2 turn.started']);
  t.equal((await askFor(house, id)).status, 200);
  t.same(await next(events, 2), ['3 attendance.changed waiting', '4 message.created notice'], 'the turn still runs');
  t.same(
    (await (await say(house, id, 'Are you there?')).rest()).map(({ event }) => event),
    ['message.accepted'],
  );
  t.same(await next(events, 1), ['5 message.created user']);
  const now = await house.stream(`/sessions/${id}/events`);
  t.equal((await take(house, id)).status, 200);
  const rest = [
    '6 message.created assistant',
    '7 turn.ended aborted',
    '8 attendance.changed person',
    '9 message.created notice',
  ];
  t.same(await next(events, 4), rest, 'the take comes after the end of the turn that it silenced');
  t.same(await next(now, 4), rest, 'also for a reader from now on');
  t.match((await stream.rest()).at(-1), { event: 'turn.aborted', data: { stop_reason: 'taken' } });
}

async function resumes(t: Test, house: House): Promise<void> {
  const { id, stream, events } = await speaking(house);
  await askFor(house, id);
  for (let count = 0; count < 12; count++) await (await say(house, id, `Message ${count}`)).rest();
  await abort(house, id, stream.turnId);
  await end(house, id);
  const whole = await next(events, 100);
  t.same(
    whole,
    [
      'message.created user',
      'turn.started',
      'attendance.changed waiting',
      'message.created notice',
      ...Array.from({ length: 12 }, () => 'message.created user'),
      'message.created assistant',
      'turn.ended aborted',
      'attendance.changed assistant',
      'session.ended ended',
    ].map((text, index) => `${index + 1} ${text}`),
  );
  for (const after of whole.keys())
    t.same(await next(await house.stream(`/sessions/${id}/events?after=${after}`), 100), whole.slice(after));
}

async function cancelsWaiting(t: Test, house: House): Promise<void> {
  const functions = [{ name: 'look_up', description: null, parameters: { type: 'object' } }];
  const tool = await countingTool(t, house, { functions, approval: 'always' });
  const { assistant } = await onProvider(
    t,
    house,
    (response) => response.writeHead(200, eventStream).end(callOf('look_up') + delta('', 'tool_calls') + done),
    { tool_ids: [tool.id], desk },
  );
  for (let time = 0; time < 12; time++) {
    const { id } = await house.session(assistant.id);
    const chat = say(house, id);
    await new Promise((resolve) => setTimeout(resolve, time));
    await take(house, id);
    await (await chat).rest();
    const calls = (await transcriptOf(house, id)).flatMap(({ tool_calls: made }) => made ?? []);
    t.notOk(calls.some(({ status }) => !['cancelled', 'declined'].includes(status)));
    t.same((await house.ask(`/sessions/${id}`)).json.pending_tool_calls, []);
  }
  t.equal(tool.reached.length, 0);
}

async function refusesName(t: Test, house: House): Promise<void> {
  const named = (name: string): object[] => [{ name, description: null, parameters: { type: 'object' } }];
  const asking = await countingTool(t, house, { functions: named('ask_for_person') });
  const tool = await countingTool(t, house, { functions: named('look_up') });
  const open = await synthetic(house, 'tokens=1', { desk, tool_ids: [tool.id] });
  const patch = (path: string, body: object): Promise<Answer> => house.console(path, { method: 'PATCH', body });
  const toolIds = await patch(assistantPath(house, open.id), { tool_ids: [tool.id, asking.id] });
  refused(t, toolIds, 422, 'invalid_request');
  t.match(toolIds.json.error.message, '`tool_ids`');
  const toolPath = `/workspaces/${house.workspaceId}/tools/${tool.id}`;
  const edited = await patch(toolPath, { functions: named('ask_for_person') });
  refused(t, edited, 422, 'invalid_request');
  t.match(edited.json.error.message, '`functions`');
  t.equal((await patch(assistantPath(house, open.id), { desk: { enabled: false } })).status, 200);
  t.equal((await patch(toolPath, { functions: named('ask_for_person') })).status, 200, 'without a desk it is a name');
  const opened = await patch(assistantPath(house, open.id), { desk: { enabled: true } });
  refused(t, opened, 422, 'invalid_request');
  t.match(opened.json.error.message, '`tool_ids`');
}
