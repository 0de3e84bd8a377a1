/** The helpdesk bridge of the examples, as a separate process, between a server and a fake of Chatwoot. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { freePort } from '../../bench/harness/process.ts';
import { openHouse } from '../api/house.ts';
import { cookieFor, linkFor, withCookie } from '../api/signing.ts';
import { end, say, sessionOf, synthetic, transcriptOf, until } from '../api/talk.ts';
import { temporaryFolder } from '../folders.ts';
import { Chatwoot } from './chatwoot.ts';

const bridgeFile = fileURLToPath(new URL('../../examples/helpdesk-bridge/bridge.mjs', import.meta.url));
const root = dirname(dirname(dirname(bridgeFile)));
const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
const chatwoot = await Chatwoot.start(t);
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
chatwoot.webhook = `${url}/chatwoot`;
const created = await house.console(`/workspaces/${house.workspaceId}/webhooks`, {
  body: { url: `${url}/parley`, events: ['session.waiting'] },
});
const assistant = await synthetic(house, 'tokens=2', { desk: { enabled: true, wait_seconds: 3600 } });

interface Bridge {
  /** Ends it as a crash does. */
  kill(): Promise<void>;
}

const folder = await temporaryFolder(t);
await copyFile(bridgeFile, join(folder, 'bridge.mjs'));
await mkdir(join(folder, 'node_modules'));
await symlink(join(root, 'dist', 'client'), join(folder, 'node_modules', 'parley-client'));

async function start(): Promise<Bridge> {
  const child = spawn(process.execPath, ['bridge.mjs'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      PARLEY_URL: house.url,
      PARLEY_OPERATOR_TOKEN: house.operatorToken,
      WORKSPACE: house.workspaceId,
      WEBHOOK_SECRET: created.json.secret,
      PORT: String(port),
      ...chatwoot.environment,
    },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const exited = once(child, 'exit');
  t.teardown(() => child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return {
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** A session whose visitor has said something and asks for a person. */
async function asked(): Promise<string> {
  const { id } = await house.session(assistant.id, { visitor: {} });
  await (await say(house, id, 'My parcel is lost.')).rest();
  await house.ask(`/sessions/${id}/ask`, { body: {} });
  return id;
}
const beginning = ['in: My parcel is lost.', 'out: word word'];

const stateOf = async (id: string): Promise<string> => (await sessionOf(house, id)).attendance.state;
const byPeople = async (id: string): Promise<string[]> =>
  (await transcriptOf(house, id)).filter(({ role }) => role === 'person').map(({ content }) => content);
const same = (one: readonly string[], other: readonly string[]): boolean => one.join('\n') === other.join('\n');
const transferred = (id: string, said: readonly string[]): Promise<true> =>
  until(() => same(chatwoot.said(id), said) || null);

t.test('agents answer in the helpdesk, and resolving the conversation returns it', async (t) => {
  const bridge = await start();
  const id = await asked();
  await transferred(id, beginning);
  const long = '😀'.repeat(8001);
  const first = await chatwoot.reply(id, 'We look into it.');
  await until(() => first.status === 'delivered');
  t.equal(await stateOf(id), 'person');
  await (await say(house, id, 'Thank you.')).rest();
  const expected = [...beginning, 'out: We look into it.', 'in: Thank you.'];
  await transferred(id, expected);
  await chatwoot.reply(id, long);
  await until(async () => (await byPeople(id)).length === 3);
  t.equal((await byPeople(id)).join(''), `We look into it.${long}`);
  await chatwoot.resolve(id);
  await until(async () => (await stateOf(id)) === 'assistant');
  t.equal((await (await say(house, id, 'Bye.')).rest()).at(-1)!.event, 'turn.completed');
  await house.ask(`/sessions/${id}/ask`, { body: {} });
  await transferred(id, [...expected, `out: ${long}`, 'in: Bye.', 'out: word word']);
  t.equal(chatwoot.of(id)!.status, 'open', 'asked again, the conversation is open again');
  await end(house, id);
  await until(() => chatwoot.of(id)!.status === 'resolved');
  const late = await chatwoot.reply(id, 'Hello?');
  await until(() => late.status === 'failed');
  t.match(late.content_attributes, { external_error: 'Refused: The session has ended.' });
  const notes = chatwoot.of(id)!.messages.filter((message) => message.private);
  t.match(notes.map(({ content }) => content).slice(0, 3), [
    'The visitor waits for a person.',
    'operator answers.',
    'The assistant answers.',
  ]);
  await bridge.kill();
});

t.test('a bridge that is killed loses nothing and repeats nothing', async (t) => {
  const ids = [await asked(), await asked(), await asked()];
  let bridge = await start();
  const [whole, answered, resolved] = ids as [string, string, string];
  for (const id of ids) await transferred(id, beginning);
  for (const id of [answered, resolved]) await chatwoot.reply(id, 'One');
  await until(async () => (await stateOf(resolved)) === 'person' && (await stateOf(answered)) === 'person');
  await bridge.kill();
  const missed = await chatwoot.reply(answered, 'Two');
  t.equal(missed.status, 'failed', 'the agent sees that it is not sent');
  await (await say(house, answered, 'Three')).rest();
  await chatwoot.resolve(resolved);
  chatwoot.losesAnswers = true;
  for (const requests of [3, 9, 27]) {
    const before = chatwoot.requests;
    bridge = await start();
    await until(() => chatwoot.requests >= before + requests);
    await bridge.kill();
  }
  chatwoot.losesAnswers = false;
  bridge = await start();
  await transferred(answered, [...beginning, 'out: One', 'out: Two', 'in: Three']);
  await until(() => missed.status === 'delivered');
  await until(async () => (await stateOf(resolved)) === 'assistant');
  t.same(await byPeople(answered), ['One', 'Two']);
  t.same(await byPeople(resolved), ['One']);
  t.same(chatwoot.said(whole), beginning);
  t.equal(await stateOf(whole), 'waiting');
  await bridge.kill();
  for (const id of ids) await end(house, id);
});

t.test('an agent sees that a colleague in the console has the conversation', async (t) => {
  const bridge = await start();
  const id = await asked();
  await transferred(id, beginning);
  const cookie = await cookieFor(house, await linkFor(house, 'Ann'));
  const inConsole = (verb: string, body?: object) =>
    withCookie(house, cookie, `/workspaces/${house.workspaceId}/sessions/${id}/${verb}`, { method: 'POST', body });
  t.equal((await inConsole('take')).status, 200);
  t.equal((await inConsole('messages', { text: 'I have it.' })).status, 201);
  await until(() => chatwoot.of(id)!.messages.some(({ content }) => content === 'Ann: I have it.'));
  const refused = await chatwoot.reply(id, 'Me too.');
  await until(() => refused.status === 'failed');
  t.match(refused.content_attributes.external_error, /^Refused: Another person has the session/);
  t.same(await byPeople(id), ['I have it.']);
  await end(house, id);
  await bridge.kill();
});

t.test('a forged event has no effect', async (t) => {
  const bridge = await start();
  const { id } = await house.session(assistant.id);
  const body = JSON.stringify({ type: 'session.waiting', data: { session_id: id } });
  const headers = { 'webhook-id': 'dlv_1', 'webhook-timestamp': String(Math.floor(Date.now() / 1000)) };
  for (const signature of ['', `v1,${Buffer.alloc(32).toString('base64')}`, 'v1,x'])
    t.equal(
      (await fetch(`${url}/parley`, { method: 'POST', headers: { ...headers, 'webhook-signature': signature }, body }))
        .status,
      401,
    );
  const event = JSON.stringify({ event: 'message_created', conversation: { contact_inbox: { source_id: id } } });
  for (const forged of [event, '', 'null', '[]', '{"conversation":null}', '{"contact_inbox":{"source_id":7}}'])
    t.equal((await fetch(`${url}/chatwoot`, { method: 'POST', body: forged })).status, 204);
  const other = await asked();
  await transferred(other, beginning);
  t.equal(chatwoot.of(id), undefined);
  t.equal(await stateOf(id), 'assistant');
  await end(house, other);
  await bridge.kill();
});
