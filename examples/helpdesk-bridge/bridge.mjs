/**
 * A bridge between parley's desk and a helpdesk with the API of Chatwoot. It stores nothing: a message in the helpdesk has
 * the id of parley's message as its `source_id`, and an agent's answer is marked `delivered`. Each task begins with what
 * both sides have and does what is missing, so it may be repeated after any failure.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { Parley } from 'parley-client';

const { PARLEY_URL = 'http://127.0.0.1:8080', PARLEY_OPERATOR_TOKEN, WORKSPACE, WEBHOOK_SECRET } = process.env;
const { CHATWOOT_URL, CHATWOOT_TOKEN, CHATWOOT_INBOX, CHATWOOT_ACCOUNT = '1', PORT = '8091' } = process.env;
/** The variables that must be set, and their values. */
const required = {
  PARLEY_OPERATOR_TOKEN: 'the text of the file operator-token in the data folder of the server',
  WORKSPACE: 'the id of the workspace: `npx parley workspaces list` prints it',
  WEBHOOK_SECRET: 'the secret that `npx parley webhooks create` prints',
  CHATWOOT_URL: 'the address of Chatwoot, as https://chatwoot.example.com',
  CHATWOOT_TOKEN: 'the access token of an agent, from the profile settings of Chatwoot',
  CHATWOOT_INBOX: 'the identifier of an API inbox, from its settings',
};
const missing = Object.keys(required).filter((name) => !process.env[name]);
for (const name of missing) console.error(`Set ${name} to ${required[name]}.`);
if (missing.length > 0) process.exit(1);

async function send(url, headers, method, body) {
  const json = body && JSON.stringify(body);
  const response = await fetch(url, { method, headers: { 'content-type': 'application/json', ...headers }, body: json, signal: AbortSignal.timeout(15_000) });
  const answer = await response.json().catch(() => null);
  if (response.ok) return answer;
  const { code, message = response.statusText } = answer?.error ?? {};
  throw Object.assign(new Error(`${method} ${url}: ${message}`), { status: response.status, code, sentence: message });
}
const console_ = `${PARLEY_URL}/console/api`;
const authorization = `Bearer ${PARLEY_OPERATOR_TOKEN}`;
const desk = (method, path, body, key) =>
  send(`${console_}/workspaces/${WORKSPACE}${path}`, { authorization, ...(key && { 'idempotency-key': key }) }, method, body);
const helpdesk = (method, path, body) => send(`${CHATWOOT_URL}/api/v1/accounts/${CHATWOOT_ACCOUNT}${path}`, { api_access_token: CHATWOOT_TOKEN }, method, body);
const inbox = (method, path, body) => send(`${CHATWOOT_URL}/public/api/v1/inboxes/${CHATWOOT_INBOX}${path}`, {}, method, body);
const parley = new Parley({ url: `${console_}/workspaces/${WORKSPACE}`, key: PARLEY_OPERATOR_TOKEN });

/** Each task that runs, with whether it was asked for again meanwhile. */
const running = new Map();
/** Runs a task for a session until it succeeds, and once more if it is asked for meanwhile. */
async function run(task, id) {
  const name = `${task.name} ${id}`;
  if (running.has(name)) return void running.set(name, true);
  let waitMs = 250;
  do {
    running.set(name, false);
    try {
      await task(id);
    } catch (error) {
      console.error(error.message);
      if (error.status === 404) continue; // Never at the desk, or erased on one of the two sides.
      await pause((waitMs = Math.min(2 * waitMs, 30_000)));
      running.set(name, true);
    }
  } while (running.get(name));
  running.delete(name);
}

/** The helpdesk's conversation of a session; one that was never at the desk gets none. */
async function conversationOf({ id, attendance, visitor, visitor_verified }) {
  if (attendance.state !== 'assistant') {
    // An unverified visitor could name the address of another person, whose contact this would become.
    const email = visitor_verified ? visitor.email : undefined;
    await inbox('POST', '/contacts', { source_id: id, name: String(visitor.name ?? 'Visitor'), email });
  }
  const known = await inbox('GET', `/contacts/${id}/conversations`);
  const { id: number } = known.at(-1) ?? (await inbox('POST', `/contacts/${id}/conversations`, { custom_attributes: { parley_session: id } }));
  return helpdesk('GET', `/conversations/${number}`);
}

async function messagesOf({ id }) {
  const all = [];
  for (let page; (page = (await helpdesk('GET', `/conversations/${id}/messages?after=${all.at(-1)?.id ?? 0}`)).payload).length > 0;) all.push(...page);
  return all;
}

const setStatus = ({ id }, status) => helpdesk('POST', `/conversations/${id}/toggle_status`, { status });
const words = { waiting: () => 'The visitor waits for a person.', person: ({ name }) => `${name} answers.`, assistant: () => 'The assistant answers.' };

/** Follows a session at the desk: the helpdesk gets each message that it does not have. */
async function toHelpdesk(id) {
  const session = await desk('GET', `/sessions/${id}`);
  const conversation = await conversationOf(session);
  if (session.attendance.state === 'waiting' && conversation.status === 'resolved') await setStatus(conversation, 'open');
  void run(toVisitor, id);
  const known = new Set((await messagesOf(conversation)).map(({ source_id }) => source_id));
  const put = async (source_id, content, message_type, isPrivate = false) => {
    if (content !== '' && !known.has(source_id))
      await helpdesk('POST', `/conversations/${conversation.id}/messages`, { content, message_type, private: isPrivate, source_id });
  };
  const events = parley.sessions.events(id, { after: 0 });
  for await (const { type, message, attendance } of events) {
    if (type === 'message.created') {
      const { role, content, by } = message;
      if (role === 'user' || role === 'assistant') await put(message.id, content, role === 'user' ? 'incoming' : 'outgoing');
      if (role === 'person' && by.name !== self) await put(message.id, `${by.name}: ${content}`, 'outgoing', true);
    }
    if (type === 'attendance.changed') {
      await put(`${id} ${events.cursor}`, words[attendance.state](attendance.person ?? {}), 'outgoing', true);
      const now = attendance.state === 'assistant' && (await desk('GET', `/sessions/${id}`));
      if (now && now.status === 'open' && now.attendance.state === 'assistant') return;
    }
    if (type === 'session.ended') await setStatus(conversation, 'resolved');
  }
}

/** Sends the answers of agents that the visitor does not have; gives the session back once its conversation is resolved. */
async function toVisitor(id) {
  const conversation = await conversationOf(await desk('GET', `/sessions/${id}`));
  for (const message of await messagesOf(conversation)) {
    const { message_type, private: isPrivate, source_id, status, content, content_attributes } = message;
    const isDone = status === 'delivered' || status === 'read' || content_attributes?.external_error?.startsWith('Refused: ');
    if (message_type === 1 && !isPrivate && !source_id && content && !isDone) await answer(id, conversation, message);
  }
  if (conversation.status === 'resolved') await desk('POST', `/sessions/${id}/return`).catch(unlessRefused);
}

async function answer(id, conversation, { id: number, content }) {
  const mark = (body) => helpdesk('PATCH', `/conversations/${conversation.id}/messages/${number}`, body);
  try {
    for (const [part, piece] of content.match(/[^]{1,8000}/gu).entries()) {
      const say = () => desk('POST', `/sessions/${id}/messages`, { text: piece }, `${conversation.id} ${number} ${part}`);
      await say().catch(async (error) => {
        if (error.code !== 'session_taken') throw error;
        await desk('POST', `/sessions/${id}/take`);
        void run(toHelpdesk, id);
        await say();
      });
    }
    await mark({ status: 'delivered' });
  } catch (error) {
    unlessRefused(error);
    await mark({ status: 'failed', external_error: `Refused: ${error.sentence}` });
  }
}

/** Another person has the session, or it has ended: the same request would be refused again. */
function unlessRefused(error) {
  if (error.status !== 409) throw error;
}

/** Continues where the last process ended: with all that is at the desk, and all that is open in the helpdesk. */
async function begin() {
  for (let after = ''; after !== null;) {
    const { data, next_cursor } = await desk('GET', `/desk?limit=100${after && `&after=${after}`}`);
    for (const { id } of data) void run(toHelpdesk, id);
    after = next_cursor;
  }
  for (let page = 1, open; (open = (await helpdesk('GET', `/conversations?status=open&page=${page}`)).data.payload).length > 0; page++)
    for (const { custom_attributes } of open) if (custom_attributes.parley_session) void run(toHelpdesk, custom_attributes.parley_session);
}

const key = Buffer.from(WEBHOOK_SECRET.slice('whsec_'.length), 'base64');
function isSigned({ 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signatures = '' }, body) {
  const own = createHmac('sha256', key).update(`${id}.${at}.${body}`).digest();
  const isOwn = (signature) => timingSafeEqual(Buffer.from(signature, 'base64'), own);
  return signatures.match(/(?<=v1,)[\w+/]{43}=/g)?.some(isOwn) && Math.abs(Date.now() / 1000 - at) < 300;
}

const { name: self } = await send(`${console_}/me`, { authorization }, 'GET');
const server = createServer(async (request, response) => {
  const body = await text(request).catch(() => '');
  let event = null;
  try {
    event = JSON.parse(body);
  } catch {}
  if (request.url === '/parley' && !isSigned(request.headers, body)) return response.writeHead(401).end();
  if (request.url === '/parley' && event?.type === 'session.waiting') void run(toHelpdesk, event.data.session_id);
  // The helpdesk's event only says that there is something to read, so nobody gains by forging one.
  const { source_id } = (event?.conversation ?? event)?.contact_inbox ?? {};
  if (request.url === '/chatwoot' && /^ses_\w+$/.test(source_id)) void run(toVisitor, source_id);
  response.writeHead(204).end();
});
server.on('error', ({ code, message }) => {
  console.error(code === 'EADDRINUSE' ? `The port ${PORT} is in use. Set PORT to a free one.` : message);
  process.exit(1);
});
server.listen(Number(PORT), () => console.log(`listens on ${server.address().port}`));
await run(begin, '');
