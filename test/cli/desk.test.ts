/** `parley desk` at a server: a person lists, takes, answers, returns and releases conversations. */
import t from 'tap';
import { cookieFor, linkFor, withCookie } from '../api/signing.ts';
import { openHouse } from '../api/house.ts';
import { end, say, sessionOf, synthetic, transcriptOf, until } from '../api/talk.ts';
import { span } from '../../src/cli/desk-list.ts';
import { begin, fakeServer, id, inWorkspace, run, session, workspaceRoutes, type Finished } from './support.ts';

const house = await openHouse(t);
const env = { PARLEY_URL: house.url, PARLEY_OPERATOR_TOKEN: house.operatorToken };
const desk = (...args: string[]): Promise<Finished> => run(['desk', ...args], { env, input: '' });
const { id: assistantId } = await synthetic(house, 'tokens=1', { name: 'support', desk: { enabled: true } });

const open = async (): Promise<string> => (await house.session(assistantId)).id;
const asked = async (reason: string): Promise<string> => {
  const sessionId = await open();
  await house.ask(`/sessions/${sessionId}/ask`, { body: { reason } });
  return sessionId;
};
const stateOf = async (sessionId: string): Promise<string> => (await sessionOf(house, sessionId)).attendance.state;
const saidBy = async (sessionId: string): Promise<string[]> =>
  (await transcriptOf(house, sessionId)).map(({ role, content }: any) => `${role}: ${content}`);
const cells = (line: string): string => line.trim().split(/ {2,}/).join('|');

t.test('the list has who waits, the longest first, and what people have', async (t) => {
  t.match(await desk(), { code: 0, stdout: 'Nobody waits for a person, and no person has a conversation.\n' });
  t.match(await desk('take'), { code: 1, stderr: 'parley: Nobody waits for a person.\n' });
  const [first, second] = [await asked('a refund'), await asked('a lost\nparcel')];
  t.match(await desk('take', first), { code: 0 });
  const { code, stdout } = await desk();
  t.equal(code, 0);
  const lines = stdout.trimEnd().split('\n').map(cells);
  t.equal(lines[0], 'SESSION|STATE|FOR|ASSISTANT|VISITOR|ABOUT');
  t.match(lines[1], new RegExp(`^${second}\\|waiting\\|\\d+ s\\|support\\|-\\|a lost parcel$`));
  t.match(lines[2], new RegExp(`^${first}\\|with operator\\|\\d+ s\\|support\\|-\\|a refund$`));
  const json = await run(['desk', 'list', '--json'], { env });
  t.same(
    JSON.parse(json.stdout).data.map(({ id: one }: any) => one),
    [second, first],
  );
  await Promise.all([first, second].map((one) => end(house, one)));
});

t.test('in a terminal the list follows the desk until Ctrl-C', async (t) => {
  const watching = begin(t, ['desk'], { env, terminal: true });
  await watching.printed('Nobody waits');
  const sessionId = await asked('a refund');
  await watching.printed(sessionId);
  watching.kill('SIGINT');
  const { code, stdout } = await watching.finished;
  t.equal(code, 0);
  t.match(stdout, /^\u001b\[\?1049h[^]*\u001b\[\?1049l$/, 'on another screen, which it leaves');
  await end(house, sessionId);
});

t.test('a person answers line by line, sees the visitor unasked, and returns the conversation', async (t) => {
  const sessionId = await open();
  await (await say(house, sessionId, 'One')).rest();
  await house.ask(`/sessions/${sessionId}/ask`, { body: {} });
  const taking = begin(t, ['desk', 'take'], { env });
  await taking.printed('  One\n');
  await taking.printed('operator answers\n');
  await (await say(house, sessionId, 'Two')).rest();
  await taking.printed('  Two\n');
  taking.stdin.write('Hello, this is Ann.\n\n//return is a word\n/retrun\n');
  await taking.printed('There is no /retrun.');
  taking.stdin.write('/return\nToo late\n');
  const { code, stdout, stderr } = await taking.finished;
  t.equal(code, 0, stderr);
  t.match(stderr, /The assistant answers again\.\n$/);
  t.match(stdout, /operator\n {2}Hello, this is Ann\./);
  t.same(
    (await saidBy(sessionId)).filter((line) => !line.startsWith('assistant')),
    ['user: One', 'user: Two', 'person: Hello, this is Ann.', 'person: /return is a word'],
  );
  t.equal(await stateOf(sessionId), 'assistant');
});

t.test('a script sends its lines, and the conversation stays its own', async (t) => {
  const sessionId = await asked('a refund');
  const script = await run(['desk', 'take', sessionId, '--json'], { env, input: 'One\nTwo\n' });
  t.equal(script.code, 0, script.stderr);
  const events = script.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  t.same(
    events.map(({ number, type, message }) => [number, type, message?.content]),
    [
      [1, 'attendance.changed', undefined],
      [2, 'attendance.changed', undefined],
      [3, 'message.created', 'One'],
      [4, 'message.created', 'Two'],
    ],
  );
  const again = await run(['desk', 'take', sessionId], { env, input: '' });
  t.match(again.stderr, `The conversation ${sessionId} stays yours.`);
  t.match(again.stdout, /operator\n {2}Two\n/, 'the transcript is printed to its end');
  t.match(await run(['desk', 'take', sessionId], { env, input: '/release\n' }), { code: 0 });
  t.equal(await stateOf(sessionId), 'waiting');
  t.match(await desk('take', sessionId), { code: 0 });
  t.match(await desk('reply', sessionId, 'Three'), { code: 0, stdout: /^Sent msg_\w+\.\n$/ });
  t.match(await desk('release', sessionId), { stdout: 'The visitor waits for the next person.\n' });
  t.match(await desk('take', sessionId), { code: 0 });
  t.match(await desk('return', sessionId), { stdout: 'The assistant answers again.\n' });
  t.same(await saidBy(sessionId), ['person: One', 'person: Two', 'person: Three']);
  await end(house, sessionId);
});

t.test('a refusal names who has the conversation, or says that nobody has', async (t) => {
  const sessionId = await open();
  const first = `Nobody has this conversation. Take it first with \`parley desk take ${sessionId}\`.`;
  const refusals = {
    assistant: { reply: first, return: 'Nobody has this conversation: the assistant answers.', release: first },
    waiting: {
      reply: first,
      return: first,
      release: 'Nobody has this conversation. The visitor waits for the next person.',
    },
  };
  for (const state of ['assistant', 'waiting'] as const) {
    if (state === 'waiting') await house.ask(`/sessions/${sessionId}/ask`, { body: {} });
    t.equal(await stateOf(sessionId), state);
    for (const [verb, sentence] of Object.entries(refusals[state])) {
      const { code, stderr } = await desk(verb, sessionId, ...(verb === 'reply' ? ['Hi'] : []));
      t.equal(code, 1);
      t.match(stderr, `parley: ${sentence} (session_taken`, `${verb}, ${state}`);
    }
  }
  const cookie = await cookieFor(house, await linkFor(house, 'Ann'));
  const path = `/workspaces/${house.workspaceId}/sessions/${sessionId}/take`;
  t.equal((await withCookie(house, cookie, path, { method: 'POST' })).status, 200);
  for (const args of [
    ['take', sessionId],
    ['reply', sessionId, 'Hi'],
    ['return', sessionId],
  ])
    t.match(await desk(...args), { code: 1, stderr: /^parley: Ann has this conversation\. \(session_taken, request / });
  const json = await desk('take', sessionId, '--json');
  t.match(JSON.parse(json.stderr), { error: { code: 'session_taken' } });
  await end(house, sessionId);
  t.match(await desk('take', sessionId), { code: 1, stderr: /^parley: The session has ended\./ });
  t.match(await desk('take', id('ses', 'a')), { code: 1, stderr: /^parley: There is no session ses_a+\. List them/ });
  const messages = [{ role: 'user', content: 'Hi' }];
  await house.ask('/v1/chat/completions', { body: { model: assistantId, messages } });
  const [foreign] = (await house.ask(`/sessions?assistant_id=${assistantId}`)).json.data;
  t.match(await desk('take', foreign.id), {
    code: 1,
    stderr: /^parley: A conversation of an OpenAI or MCP client is /,
  });
});

t.test('a conversation that ends, or that is given up elsewhere, ends the command', async (t) => {
  const [ended, returned] = [await asked('one'), await asked('two')];
  const taking = begin(t, ['desk', 'take', ended], { env });
  await taking.printed('operator answers');
  await end(house, ended);
  t.match(await taking.finished, { code: 0, stderr: /The session has ended\.\n$/ });
  const other = begin(t, ['desk', 'take', returned], { env });
  await other.printed('operator answers');
  await desk('return', returned);
  t.match(await other.finished, {
    code: 0,
    stderr: /You do not have the conversation any more: the assistant answers\.\n$/,
  });
});

t.test('in a terminal what comes stands above the line that is typed, and Ctrl-C states the choice', async (t) => {
  const sessionId = await asked('a refund');
  const taking = begin(t, ['desk', 'take', sessionId], { env, terminal: true, keyboard: true });
  await taking.printed('operator answers');
  taking.stdin.write('Half a li');
  await taking.printed('Half a li');
  await (await say(house, sessionId, 'Are you there?')).rest();
  await taking.printed('Are you there?\n');
  taking.stdin.write('ne\r');
  await until(async () => (await saidBy(sessionId)).includes('person: Half a line'));
  taking.stdin.write('\u0003');
  await taking.printed('Ctrl-C again leaves');
  taking.stdin.write('\u0003');
  const { code, stdout, stderr } = await taking.finished;
  t.equal(code, 0);
  t.match(stdout, /Are you there\?\n[^]*operator> Half a li/, 'the line stands below it as it was');
  t.notMatch(stdout, /operator\n {2}Half a line/, 'and is not printed again');
  t.match(stderr, /stays yours\. Give it up with `parley desk return /);
  t.equal(await stateOf(sessionId), 'person');
  await end(house, sessionId);
});

t.test('a message whose answer is lost is sent again under its key', async (t) => {
  let attempts = 0;
  const server = await fakeServer(t, {
    ...workspaceRoutes,
    [`POST ${inWorkspace}/sessions/${session.id}/messages`]: (_request, response) => {
      if (attempts++ === 0) return void response.destroy();
      return { id: id('msg', 'a'), object: 'message', role: 'person', content: 'Hi' };
    },
  });
  t.match(await run(['desk', 'reply', session.id, 'Hi'], { env: server.env }), { code: 0 });
  const keys = server.received.flatMap(({ headers }) => headers['idempotency-key'] ?? []);
  t.equal(keys.length, 2);
  t.equal(keys[0], keys[1]);
});

t.test('a wait in words', async (t) => {
  t.same([-1, 0, 59, 60, 3599, 3600, 7500].map(span), [
    '0 s',
    '0 s',
    '59 s',
    '1 min',
    '59 min',
    '1 h 0 min',
    '2 h 5 min',
  ]);
});
