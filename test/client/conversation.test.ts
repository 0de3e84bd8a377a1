/** `parley-client/conversation` at the real server. */
import t from 'tap';
import {
  conversation,
  type Conversation,
  type ConversationMessage,
  type ConversationSnapshot,
} from '../../src/client/conversation.ts';
import { synthetic, transcriptOf } from '../api/talk.ts';
import { openScene } from './scene.ts';

const scene = await openScene(t, 'tokens=40,delay_ms=5');
const { house, way, assistantId } = scene;

/** Resolves with the first snapshot that fits, and calls no listener any more. */
const reached = (
  talk: Conversation,
  fits: (snapshot: ConversationSnapshot) => boolean,
): Promise<ConversationSnapshot> =>
  new Promise((resolve) => {
    const look = (): void => {
      if (!fits(talk.getSnapshot())) return;
      unsubscribe();
      resolve(talk.getSnapshot());
    };
    const unsubscribe = talk.subscribe(look);
    look();
  });
const is =
  (status: ConversationSnapshot['status']) =>
  (snapshot: ConversationSnapshot): boolean =>
    snapshot.status === status;

t.test('loads, sends, shows the reply as it comes, and gives the same snapshot until something changes', async (t) => {
  const { id } = await house.session(assistantId);
  const talk = conversation(scene.client().parley, id);
  t.same(talk.getSnapshot(), { status: 'loading', messages: [], pending: [], attendance: null, error: null });
  t.equal(talk.getSnapshot(), talk.getSnapshot());
  await reached(talk, is('idle'));
  const seen: ConversationSnapshot[] = [];
  const unsubscribe = talk.subscribe(() => seen.push(talk.getSnapshot()));
  await talk.send('Hello');
  unsubscribe();
  t.same([...new Set(seen.map(({ status }) => status))], ['sending', 'replying', 'idle']);
  t.match(seen[0]!.messages, [{ role: 'user', content: 'Hello', status: 'sending' }]);
  const lengths = seen.filter(is('replying')).map(({ messages }) => messages.at(-1)!.content.length);
  t.ok(
    new Set(lengths).size > 2 && lengths.every((length, index) => index === 0 || length >= lengths[index - 1]!),
    'it grows',
  );
  t.equal(new Set(seen).size, seen.length, 'each change is another snapshot');
  const stored = await transcriptOf(house, id);
  t.match(talk.getSnapshot(), { status: 'idle', error: null });
  t.same(
    talk.getSnapshot().messages.map(({ role, content, status }) => ({ role, content, status })),
    stored.map(({ role, content, status }) => ({ role, content, status })),
  );
  t.equal(talk.getSnapshot().messages[1]!.id, stored[1].id);
});

t.test('a conversation opened in mid-reply goes on with it, each character once; abort stops it', async (t) => {
  const slow = await synthetic(house, 'tokens=100000,delay_ms=5');
  const { id } = await house.session(slow.id);
  const first = conversation(scene.client().parley, id);
  const sending = first.send('Hello');
  await reached(first, ({ messages }) => (messages.at(-1)?.content.length ?? 0) > 20);
  first.leave();
  await sending;
  way.fault = (line) => (line.endsWith('/events') ? { kind: 'cut body', bytes: 400 } : null);
  const second = conversation(scene.client().parley, id);
  const before = (await reached(second, is('replying'))).messages.at(-1)!.content.length;
  await reached(second, ({ messages }) => messages.at(-1)!.content.length > before + 20);
  await second.abort();
  const { messages } = await reached(second, is('idle'));
  way.fault = () => null;
  const stored = (await transcriptOf(house, id)).at(-1);
  t.match(stored, { status: 'partial', stop_reason: 'aborted' });
  t.match(messages.at(-1), { role: 'assistant', content: stored.content, status: 'partial', id: stored.id });
  t.equal(messages.length, 2);
  const third = conversation(scene.client().parley, id);
  const withoutTime = (all: readonly ConversationMessage[]): object[] =>
    all.map(({ createdAt: _, ...message }) => message);
  t.match(withoutTime((await reached(third, is('idle'))).messages), withoutTime(messages));
  t.same(
    third.getSnapshot().messages.map(({ stopReason, createdAt }) => [stopReason, typeof createdAt]),
    [
      [null, 'number'],
      ['aborted', 'number'],
    ],
  );
});

t.test('a session created here is not loaded; a reply that has not begun is stopped', async (t) => {
  const silent = await synthetic(house, 'first_ms=600000');
  const { id } = await house.session(silent.id);
  const asked: string[] = [];
  way.fault = (line) => (asked.push(line.replace(/ses_\w+/, 'ID')), null);
  const talk = conversation(scene.client().parley, id, []);
  t.equal(talk.getSnapshot().status, 'idle');
  const sending = talk.send('Hello', { idempotencyKey: 'one' });
  await reached(talk, is('sending'));
  while ((await house.ask(`/sessions/${id}`)).json.active_turn_id === null);
  await talk.abort();
  await sending;
  way.fault = () => null;
  t.match(asked[0], 'POST /sessions/ID/chat');
  t.match(talk.getSnapshot(), {
    status: 'idle',
    error: null,
    messages: [
      { content: 'Hello', status: 'completed' },
      { content: '', status: 'partial', stopReason: 'aborted' },
    ],
  });
  const again = conversation(scene.client().parley, id, []);
  await again.send('Hello', { idempotencyKey: 'one' });
  t.equal((await transcriptOf(house, id)).length, 2, 'the same key sends nothing twice');
});

t.test('refresh shows what others sent, and goes on with their reply', async (t) => {
  const { id } = await house.session(assistantId);
  const [one, other] = [conversation(scene.client().parley, id), conversation(scene.client().parley, id)];
  await reached(one, is('idle'));
  await other.send('Hello');
  t.equal(one.getSnapshot().messages.length, 0);
  await one.refresh();
  t.match(one.getSnapshot(), { status: 'idle', messages: [{ content: 'Hello' }, { status: 'completed' }] });
  const sending = other.send('And?');
  await reached(other, is('replying'));
  await one.refresh();
  await sending;
  await reached(one, ({ status, messages }) => status === 'idle' && messages.length === 4);
  t.equal(one.getSnapshot().messages[3]!.content, other.getSnapshot().messages[3]!.content);
});

t.test('a failure is in the snapshot, and a session that is over stays so', async (t) => {
  const failing = await synthetic(house, 'tokens=10,fail_at=4');
  const { id } = await house.session(failing.id);
  const talk = conversation(scene.client().parley, id);
  await talk.send('Hello');
  t.match(talk.getSnapshot(), {
    status: 'idle',
    error: { code: 'assistant_unavailable', partial: /./ },
    messages: [{ role: 'user' }, { role: 'assistant', status: 'partial' }],
  });
  await talk.end();
  t.match(talk.getSnapshot(), { status: 'over', error: null });
  await talk.send('Hello?');
  t.equal(talk.getSnapshot().messages.length, 2, 'nothing is sent any more');
  const again = conversation(scene.client().parley, id);
  await reached(again, is('over'));

  const ended = await house.session(assistantId);
  const late = conversation(scene.client().parley, ended.id);
  await reached(late, is('idle'));
  await house.ask(`/sessions/${ended.id}/end`, { method: 'POST' });
  await late.send('Hello');
  t.match(late.getSnapshot(), {
    status: 'over',
    error: { code: 'session_ended' },
    messages: [{ status: 'failed', content: 'Hello' }],
  });

  const unknown = conversation(scene.client().parley, 'ses_none');
  t.match((await reached(unknown, ({ error }) => error !== null)).error, { code: 'session_not_found' });
});
