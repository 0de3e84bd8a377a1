/** Words of a call while nobody, or a person, answers its session (contract 18 and 23, D2). */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { temporaryFolder } from '../folders.ts';
import { callOn, clipOf, opened, type Caller } from './caller.ts';
import { edge, openHouse, type House } from './house.ts';
import { assistantPath, end, transcriptOf } from './talk.ts';

const desk = { enabled: true, while_waiting: 'silent', texts: { joined: '{{person.name}} joined.' } };
const fields = { desk };

const ask = (house: House, { session }: Caller) => house.ask(`/sessions/${session.id}/ask`, { method: 'POST' });
const inDesk = (house: House, { session }: Caller, verb: string) =>
  house.console(`/workspaces/${house.workspaceId}/sessions/${session.id}/${verb}`, { method: 'POST' });
const typesOf = ({ heard }: Caller): string[] => heard.map(({ type }) => type);
const messagesOf = async (house: House, { session }: Caller): Promise<string[]> =>
  (await transcriptOf(house, session.id)).map(({ role, content }) => `${role}: ${content}`);

t.test(edge, async (t) => {
  const store = { PARLEY_STORE: `lmdb:${join(await temporaryFolder(t), 'data')}` };
  const house = await openHouse(t, { env: { PARLEY_SYNTHETIC: '1', ...store } });
  await t.test('[D2] spoken and typed words of a visitor who waits in silence are stored for a person', (t) =>
    waits(t, house),
  );
  await t.test('[D2] a visitor who waits is accepted for a person though the assistant lost its voice', (t) =>
    mute(t, house),
  );
  await t.test('[D2] words without a turn are stored for the person who takes the session', (t) => taken(t, house));
  await t.test('[D1] a take in the middle of a spoken reply ends its audio and its call', (t) => silenced(t, house));
});

async function waits(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { texts: 'where_is_it|it_is_lost', model: 'tokens=2', fields });
  t.equal((await ask(house, caller)).status, 200);
  caller.say(await clipOf(house));
  const spoken = await caller.until('message.accepted');
  t.equal(spoken.text, 'where is it');
  caller.send({ type: 'message', text: 'My number is 4711.' });
  const typed = await caller.until('message.accepted', ({ message_id: id }) => id !== spoken.message_id);
  t.match(await transcriptOf(house, caller.session.id), [
    { id: spoken.message_id, role: 'user', content: 'where is it', turn_id: null, voice: { audio_ms: Number } },
    { id: typed.message_id, role: 'user', content: 'My number is 4711.', turn_id: null, voice: null },
  ]);
  t.same(caller.states(), ['listening', 'hearing', 'thinking', 'listening', 'thinking', 'listening']);
  t.notOk(
    typesOf(caller).some((type) => type.startsWith('turn.') || type.startsWith('audio.s')),
    'no turn, no failure and no sound',
  );
  await inDesk(house, caller, 'take');
  t.match(await caller.until('ended'), { reason: 'person' });
  t.equal(await caller.closed, 1000);
  await inDesk(house, caller, 'return');
  const next = await callOn(house, caller.session, '&greeting=false');
  next.send({ type: 'message', text: 'Hello' });
  await next.until('turn.started');
  await next.plays();
  await next.until('turn.completed');
  t.equal((await transcriptOf(house, caller.session.id)).at(-1).status, 'completed', 'the assistant answers again');
  next.socket.terminate();
}

async function mute(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { fields });
  await ask(house, caller);
  const path = assistantPath(house, caller.session.assistant_id, '/disable');
  t.equal((await house.console(path, { method: 'POST' })).status, 200);
  caller.send({ type: 'message', text: 'Is anybody there?' });
  await caller.until('message.accepted');
  t.same(await messagesOf(house, caller), ['user: Is anybody there?']);
  caller.socket.terminate();
}

async function taken(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { texts: 'hello_there', model: 'tokens=100000,delay_ms=5', fields });
  const stream = await house.stream(`/sessions/${caller.session.id}/chat`, { body: { message: 'Typed elsewhere' } });
  await caller.until('turn.started');
  caller.say(await clipOf(house));
  await caller.until('transcript.final');
  t.equal((await inDesk(house, caller, 'take')).status, 200);
  t.equal((await stream.rest()).at(-1)!.data.stop_reason, 'taken');
  t.equal(await caller.closed, 1000);
  const accepted = await caller.until('message.accepted');
  t.match(caller.heard.at(-1), { type: 'ended', reason: 'person' });
  t.match(await transcriptOf(house, caller.session.id), [
    { role: 'user', content: 'Typed elsewhere', turn_id: String },
    { role: 'assistant', status: 'partial', stop_reason: 'taken' },
    { role: 'notice', content: 'operator joined.' },
    { id: accepted.message_id, role: 'user', content: 'hello there', turn_id: null, voice: { audio_ms: Number } },
  ]);
  await end(house, caller.session.id);
  const events = await (await house.stream(`/sessions/${caller.session.id}/events?after=0`)).rest();
  t.same(
    events.map(({ id }) => Number(id)),
    events.map((_, index) => index + 1),
  );
}

async function silenced(t: Test, house: House): Promise<void> {
  const caller = await opened(house, { model: 'tokens=200', characterMs: 60, fields });
  caller.send({ type: 'message', text: 'Tell me a story' });
  const { message_id: messageId } = await caller.until('message.delta');
  t.equal((await inDesk(house, caller, 'take')).status, 200);
  const [, reply] = await transcriptOf(house, caller.session.id);
  t.equal(await caller.closed, 1000);
  t.match(reply, { status: 'partial', stop_reason: 'taken' });
  const [, later] = await transcriptOf(house, caller.session.id);
  t.same(later, reply, 'not one character after the take');
  t.ok(reply.content.startsWith(caller.textOf(messageId)), 'what was heard is stored');
  t.match(caller.heard.at(-1), { type: 'ended', reason: 'person' });
}
