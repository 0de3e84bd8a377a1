/**
 * D1: while a person has the session, no reply grows and no call of a tool is sent. D2: each message of a visitor is answered by a turn or accepted for a person, never both and never neither; while a
 * person has the session, nothing of the assistant enters its stream. D3: the model is sent all that was said, in order.
 * D4: the stream of a session gives each event once, in order, over any cuts and processes. A visitor writes while two
 * people take the session from each other, each request at any process; as many readers as there are processes follow
 * the session. Processes are killed, connections cut, and replies of Redis lost.
 */
import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { countingTool, type CountingTool } from '../api/counting-tool.ts';
import type { Answer, House } from '../api/house.ts';
import { cookieFor, linkFor, withCookie } from '../api/signing.ts';
import { credentialOf, transcriptOf } from '../api/talk.ts';
import type { Owner } from '../folders.ts';
import { callOf, delta, done, eventStream, provider, type Seen } from '../providers/model/provider.ts';
import { patient } from '../run/speed.mjs';
import type { Experiment, StoreKind, Trial } from './experiment.ts';
import { Ground, lackingRedis, sealed } from './ground.ts';
import { Listener } from './listener.ts';
import { wayToRedis, type Way } from './way.ts';

/** The processes that share Redis. */
const processesCount = 3;
const names = ['Ann', 'Bob'] as const;
/** A request that has no final answer by then never gets one. */
const insistMsMax = patient(60_000);
/** The stream of an ended session is read by then. */
const wholeMsMax = patient(5_000);

interface Process {
  house: House;
  /** The address of the store; undefined for the ground's own. */
  readonly url: string | undefined;
  readonly way: Way | null;
}

interface ModelRequest {
  readonly role: string;
  readonly content: string;
}

interface Scene {
  /** The key of the visitor's client: a retry under another key is another request. */
  readonly key: string;
  readonly processes: readonly Process[];
  /** Assistants whose visitors wait with the assistant, and in silence. */
  readonly assistants: readonly string[];
  readonly tool: CountingTool;
  /** The calls that have reached the tool. */
  readonly calls: readonly Call[];
  /** A sign-in of each person. */
  readonly cookies: readonly string[];
  /** The messages of each request to the model. */
  readonly requests: (readonly ModelRequest[])[];
  readonly start: (process: Process) => Promise<void>;
}

interface Call {
  readonly sessionId: string;
  readonly atMs: number;
}

/** A time in which a person had the session for certain, with the replies at its beginning and its end. */
interface Holding {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly replies: readonly [readonly object[], readonly object[]];
}

interface StreamEvent {
  readonly id: number;
  readonly event: string;
  readonly data: any;
}

/** A message of the visitor, and its answer. */
interface Sent {
  readonly text: string;
  /** The turn that answers it; null for a message that was accepted. */
  readonly turnId: string | null;
  readonly messageId: string | null;
  /** The answers to all its tries. */
  readonly tries: readonly string[];
}

/** The conversation of a repetition, as its people know it. */
interface Story {
  readonly id: string;
  readonly tag: string;
  readonly sent: Sent[];
  /** Texts of people that were stored. */
  readonly said: string[];
  readonly held: Holding[];
  /** The events that each reader has read. */
  readonly read: readonly StreamEvent[][];
  /** The text of the last message, which the assistant answers. */
  last: string;
  /** Whether nothing more happens: its readers read the rest, and no longer. */
  isOver: boolean;
}

type Check = (trial: Trial, scene: Scene, story: Story) => Promise<void>;

export interface DeskOptions {
  /** The program of the servers, if not the built one. */
  readonly command?: string;
}

const experiment = (promise: string, name: string, check: Check, { command }: DeskOptions = {}): Experiment => ({
  promise,
  name,
  does: 'takes by two people, kills, cut streams and lost replies of Redis',
  stores: ['lmdb', 'redis'],
  abreast: { lmdb: 2, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const scene = await openScene(t, store, command);
    return async (trial) => check(trial, scene, await live(trial, scene));
  },
});

/** The model answers in a few words: with a call in the middle, or with a request for a person if the message ends so. */
function answer(response: ServerResponse, { body }: Seen, requests: Scene['requests']): void {
  const messages = body.messages as readonly ModelRequest[];
  requests.push(messages);
  const last = messages.at(-1)!;
  response.writeHead(200, eventStream);
  if (last.role === 'user' && last.content.endsWith('!') && body.tools !== undefined)
    return void response.end(callOf('ask_for_person') + delta('', 'tool_calls') + done);
  void (async () => {
    for (let word = 0; word < 6 && !response.destroyed; word++) {
      response.write(delta(`word ${word} `));
      await pause(8);
    }
    const calls = last.role === 'user' && last.content.endsWith('.');
    response.end((calls ? callOf('look_up') + delta('', 'tool_calls') : delta('', 'stop')) + done);
  })();
}

async function openScene(t: Owner, store: StoreKind, command: string | undefined): Promise<Scene> {
  const ground = await Ground.open(t, store);
  const requests: Scene['requests'] = [];
  const model = await provider((response, seen) => answer(response, seen, requests));
  t.teardown(() => model.close());
  const open = (url: string | undefined): Promise<House> =>
    ground.server({}, url, command === undefined ? {} : { command });
  const processes: Process[] = [];
  for (let count = 0; count < (store === 'redis' ? processesCount : 1); count++) {
    const wayed = store === 'redis' ? await wayToRedis(t, ground.redis!.port) : null;
    processes.push({ url: wayed?.url, way: wayed?.way ?? null, house: await open(wayed?.url) });
  }
  const { house } = processes[0]!;
  const credential = await credentialOf(house, 'openai', model.baseUrl);
  const tool = await countingTool(t, house, {
    functions: [{ name: 'look_up', description: 'Looks up', parameters: { type: 'object' } }],
  });
  const calls: Call[] = [];
  const respond = tool.answer;
  tool.answer = (response, reached) => {
    calls.push({ sessionId: reached.body.data.session_id, atMs: performance.now() });
    void pause(8).then(() => respond(response, reached));
  };
  const assistants: string[] = [];
  for (const while_waiting of ['assistant', 'silent']) {
    const desk = { enabled: true, wait_seconds: 3600, while_waiting, texts: { joined: '{{person.name}} joined.' } };
    const { id } = await house.assistant({
      model: { provider: 'openai', name: 'm', credential_id: credential.id },
      tool_ids: [tool.id],
      desk,
    });
    assistants.push(id);
  }
  const cookies: string[] = [];
  for (const name of names) cookies.push(await cookieFor(house, await linkFor(house, name)));
  const start = async (process: Process): Promise<void> => {
    process.house = await open(process.url);
  };
  return { key: house.key, processes, assistants, tool, calls, cookies, requests, start };
}

/** Repeats a request at any process until one of them answers it for good. */
async function insist<T>(
  { random }: Trial,
  { processes }: Scene,
  ask: (house: House) => Promise<T | null>,
): Promise<T> {
  const lastAt = performance.now() + insistMsMax;
  while (performance.now() < lastAt) {
    const found = await ask(random.pick(processes).house).catch(() => null);
    // The list of a store that is too slow for a moment is absent.
    if (found != null) return found;
    await pause(30);
  }
  throw new Error('A request has no final answer.');
}

/** The answer, unless it allows a retry. */
const final = ({ status, json, ...rest }: Answer): Answer | null =>
  status === 503 || status === 429 || json?.error?.code === 'turn_in_progress' ? null : { status, json, ...rest };

/** A whole conversation, with its end. */
async function live(trial: Trial, scene: Scene): Promise<Story> {
  const { random } = trial;
  const assistantId = random.pick(scene.assistants);
  const { id } = await insist(trial, scene, (house) => house.session(assistantId));
  const read = scene.processes.map((): StreamEvent[] => []);
  const story: Story = { id, tag: `s${trial.seed}`, sent: [], said: [], held: [], read, last: '', isOver: false };
  const following = Promise.all(read.map((events) => follow(trial, scene, story, events)));
  try {
    await allOf([
      trouble(trial, scene),
      visit(trial, scene, story),
      ...scene.cookies.map((cookie, index) => attend(trial, scene, story, cookie, names[index]!)),
    ]);
    await conclude(trial, scene, story);
  } finally {
    story.isOver = true;
    await following;
  }
  trial.count('messages', story.sent.length);
  trial.count('of people', story.said.length);
  trial.count('accepted', story.sent.filter(({ turnId }) => turnId === null).length);
  return story;
}

/** Resolves once all have ended, and rejects with the first failure then: the processes serve all of them. */
async function allOf(acts: readonly Promise<unknown>[]): Promise<void> {
  const failed = (await Promise.allSettled(acts)).find(({ status }) => status === 'rejected');
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
}

/** The assistant answers the last message, and the session ends. */
async function conclude(trial: Trial, scene: Scene, story: Story): Promise<void> {
  const { id } = story;
  await giveBack(trial, scene, story);
  story.last = `${story.tag} last`;
  story.sent.push(await send(trial, scene, story, story.last));
  await insist(trial, scene, (house) => sealed(house, id));
  await insist(trial, scene, async (house) => final(await house.ask(`/sessions/${id}/end`, { method: 'POST' })));
}

/** Kills a process at a random moment and starts it again; loses some replies of Redis. */
async function trouble(trial: Trial, scene: Scene): Promise<void> {
  const { random } = trial;
  const losing = scene.processes.map(async ({ way }) => {
    for (let times = way === null ? 0 : random.between(0, 3); times > 0; times--) {
      way!.loseReply(random.between(1, 25));
      await pause(random.between(20, 250));
      way!.mend();
      trial.count('replies lost');
    }
  });
  await pause(random.between(0, 700));
  const victim = random.pick(scene.processes);
  await victim.house.kill('SIGKILL');
  trial.count('kills');
  await scene.start(victim);
  await Promise.all(losing);
}

async function visit(trial: Trial, scene: Scene, story: Story): Promise<void> {
  const { random } = trial;
  for (let count = random.between(4, 7); count > 0; count--) {
    await pause(random.between(0, 120));
    if (random.chance(0.25))
      await insist(trial, scene, async (house) =>
        final(await house.ask(`/sessions/${story.id}/ask`, { method: 'POST', body: { reason: 'a refund' } })),
      );
    const text = `${story.tag} visitor ${count}${random.chance(0.2) ? '!' : '.'}`;
    story.sent.push(await send(trial, scene, story, text));
  }
}

/** Sends a message under a key until it has its answer; now and then the client has lost it, and sends it again. */
function send(trial: Trial, scene: Scene, { id }: Story, text: string): Promise<Sent> {
  const tries: string[] = [];
  const beganAt = performance.now();
  let losses = trial.random.chance(0.3) ? 1 : 0;
  return insist(trial, scene, async (house) => {
    const chat = new Listener(
      { url: house.url, key: scene.key },
      `/sessions/${id}/chat`,
      { message: text },
      { 'idempotency-key': text },
    );
    if (trial.random.chance(0.2)) setTimeout(() => chat.leave(), trial.random.between(1, 60));
    const sentMs = Math.round(performance.now() - beganAt);
    await chat.over;
    const endMs = Math.round(performance.now() - beganAt);
    const port = new URL(house.url).port;
    tries.push(
      `${sentMs}–${endMs} ms at ${port}: ${chat.status} ${chat.turnId} ${chat.code ?? chat.error ?? chat.ending}`,
    );
    if (chat.status === 200 && losses-- > 0) return null;
    if (chat.status === 200 && chat.turnId !== '') return { text, turnId: chat.turnId, messageId: null, tries };
    const [accepted] = eventsOf(chat.text);
    if (chat.status === 200 && accepted !== undefined)
      return { text, turnId: null, messageId: accepted.data.message_id as string, tries };
    const isRefused = chat.status >= 400 && ![503, 429].includes(chat.status) && chat.code !== 'turn_in_progress';
    if (isRefused) throw new Error(`${text} is answered ${chat.status} ${chat.code}`);
    return null;
  });
}

const deskPath = (house: House, id: string, verb: string): string =>
  `/workspaces/${house.workspaceId}/sessions/${id}/${verb}`;

/** A person takes the session, answers, and gives it up; what another person has is refused. */
async function attend(trial: Trial, scene: Scene, story: Story, cookie: string, name: string): Promise<void> {
  const { random } = trial;
  const act = (verb: string, ask: object = {}): Promise<Answer> =>
    insist(trial, scene, async (house) =>
      final(await withCookie(house, cookie, deskPath(house, story.id, verb), { method: 'POST', ...ask })),
    );
  const replies = (): Promise<object[]> =>
    insist(trial, scene, async (house) =>
      (await transcriptOf(house, story.id)).filter(({ role }) => role === 'assistant'),
    );
  let began: { readonly fromMs: number; readonly replies: readonly object[] } | null = null;
  const note = async (): Promise<void> => {
    if (began === null) return;
    story.held.push({ fromMs: began.fromMs, untilMs: performance.now(), replies: [began.replies, await replies()] });
    began = null;
  };
  for (let count = random.between(4, 7); count > 0; count--) {
    await pause(random.between(0, 200));
    const verb = random.pick(['take', 'take', 'messages', 'messages', 'return', 'release']);
    const text = `${story.tag} ${name} ${count}.`;
    const headers = { 'sec-fetch-site': 'same-origin', 'idempotency-key': `${story.tag} ${name} ${count}` };
    if (verb === 'return' || verb === 'release') await note();
    const { status, json } = await act(verb, verb === 'messages' ? { body: { text }, headers } : {});
    if (status === 201) story.said.push(text);
    if (status === 200 && verb === 'take' && began === null) {
      // A request that left before the take is read by the tool now.
      await scene.tool.settled();
      began = { fromMs: performance.now(), replies: await replies() };
    }
    trial.must(
      status === 200 || status === 201 || json?.error?.code === 'session_taken',
      `${story.id}: ${verb} by ${name} is answered ${status} ${JSON.stringify(json)}`,
    );
    trial.count(`${verb} ${status}`);
  }
  await note();
}

/** Gives the session to the assistant from any state. */
async function giveBack(trial: Trial, scene: Scene, { id }: Story): Promise<void> {
  for (const verb of ['take', 'return'])
    for (const cookie of scene.cookies)
      await insist(trial, scene, async (house) =>
        final(await withCookie(house, cookie, deskPath(house, id, verb), { method: 'POST' })),
      );
}

/** The whole events of a stream. */
function eventsOf(text: string): StreamEvent[] {
  return text
    .split('\n\n')
    .slice(0, -1)
    .flatMap((frame) => {
      const field = (name: string): string | undefined => new RegExp(`^${name}: (.*)$`, 'm').exec(frame)?.[1];
      const [event, data] = [field('event'), field('data')];
      return event === undefined || data === undefined
        ? []
        : [{ id: Number(field('id')), event, data: JSON.parse(data) }];
    });
}

/** Follows the session's stream to its end, with cuts at random moments, at any process. */
async function follow(trial: Trial, scene: Scene, story: Story, events: StreamEvent[]): Promise<void> {
  const { random } = trial;
  const { id } = story;
  const lastTries = 10;
  for (let tries = 0; tries < lastTries; tries += story.isOver ? 1 : 0) {
    const after = events.at(-1)?.id ?? 0;
    const { house } = random.pick(scene.processes);
    const stream = new Listener(house, `/sessions/${id}/events?after=${after}`, null);
    // The stream of an ended session closes by itself, however slow the machine is.
    const timer = setTimeout(() => stream.leave(), story.isOver ? wholeMsMax : random.delay(120, 1500));
    await stream.over;
    clearTimeout(timer);
    events.push(...(stream.status === 200 ? eventsOf(stream.text) : []));
    if (events.at(-1)?.event === 'session.ended') return;
    trial.count('cuts');
    if (stream.status !== 200) await pause(30);
  }
}

const silentAfterTakes: Check = async (trial, { calls }, { id, held }) => {
  for (const { fromMs, untilMs, replies } of held) {
    const late = calls.filter(({ sessionId, atMs }) => sessionId === id && atMs > fromMs && atMs < untilMs);
    trial.must(late.length === 0, `${id}: ${late.length} calls left after the take`);
    trial.must(
      isDeepStrictEqual(replies[0], replies[1]),
      `${id}: replies grew after the take: ${JSON.stringify(replies)}`,
    );
  }
  const cut = held.flatMap(({ replies: [before] }) => before).filter((reply: any) => reply.stop_reason === 'taken');
  trial.count('replies cut', new Set(cut.map((reply: any) => reply.id)).size);
  trial.count('calls', calls.filter(({ sessionId }) => sessionId === id).length);
};

const isAssistants = ({ event, data }: StreamEvent): boolean =>
  event.startsWith('turn.') || (event === 'message.created' && data.role === 'assistant');

const answeredOnce: Check = async (trial, scene, { id, sent, read }) => {
  const messages = await insist(trial, scene, (house) => transcriptOf(house, id));
  const users = messages.filter(({ role }) => role === 'user');
  for (const { text, turnId, messageId, tries } of sent) {
    const found = users.filter(({ content }) => content === text);
    const rows = found.map((row) => `${row.id} ${row.turn_id}`).join(', ');
    trial.must(
      found.length === 1,
      `${id}: "${text}" is in the transcript ${found.length} times: ${rows}; ${tries.join('; ')}`,
    );
    const isAsTold = turnId === null ? found[0]?.id === messageId && found[0]?.turn_id === null : true;
    trial.must(isAsTold, `${id}: "${text}" was accepted as ${messageId}, and is ${rows}`);
    if (turnId === null) continue;
    trial.must(found[0]?.turn_id === turnId, `${id}: "${text}" is answered by ${turnId}, and is ${rows}`);
    const replies = messages.filter((one) => one.turn_id === turnId && one.role === 'assistant');
    trial.must(replies.length === 1, `${id}: ${turnId} has ${replies.length} replies`);
  }
  trial.must(users.length === sent.length, `${id}: ${users.length} messages of ${sent.length} that were sent`);
  let state = 'assistant';
  for (const event of read[0]!) {
    if (event.event === 'attendance.changed') state = event.data.attendance.state;
    else if (state === 'person')
      trial.must(!isAssistants(event), `${id}: ${event.id} ${event.event} comes while a person has the session`);
  }
};

const sentToModel: Check = async (trial, scene, { id, said, last }) => {
  const messages = await insist(trial, scene, (house) => transcriptOf(house, id));
  const people = messages.filter(({ role }) => role === 'person');
  for (const text of said)
    trial.must(people.filter(({ content }) => content === text).length === 1, `${id}: "${text}" is not stored once`);
  const request = scene.requests.findLast((all) => all.at(-1)!.content.endsWith(last));
  if (request === undefined) return trial.must(false, `${id}: the model was not asked for an answer to "${last}"`);
  let rest = request.map(({ content }) => content).join('\n');
  for (const { role, content, by } of messages) {
    if (role !== 'user' && role !== 'person') continue;
    const due = role === 'person' ? `[${by.name}] ${content}` : content;
    const at = rest.indexOf(due);
    trial.must(at >= 0, `${id}: the model was not sent "${due}" in its place: ${JSON.stringify(request)}`);
    rest = rest.slice(Math.max(0, at + due.length));
  }
};

const eachEventOnce: Check = async (trial, scene, { id, read }) => {
  const [events, ...others] = read as [StreamEvent[], ...StreamEvent[][]];
  for (const one of read) {
    trial.count('events', one.length);
    const numbers = one.map((event) => event.id);
    trial.must(
      numbers.every((number, index) => number === index + 1),
      `${id}: the numbers are ${numbers.join(' ')}`,
    );
  }
  for (const other of others)
    trial.must(
      isDeepStrictEqual(other, events),
      `${id}: a reader has ${JSON.stringify(other)}, another one ${JSON.stringify(events)}`,
    );
  for (const { house } of scene.processes) {
    const stream = new Listener(house, `/sessions/${id}/events?after=0`, null);
    await stream.over;
    const whole = eventsOf(stream.text);
    const at = events.findIndex((event, index) => !isDeepStrictEqual(event, whole[index]));
    trial.must(
      at < 0 && whole.length === events.length,
      `${id}: event ${at + 1} of ${whole.length} is read as ${JSON.stringify(whole[at])}, and was ${JSON.stringify(events[at])}`,
    );
  }
  const created = events.filter(({ event }) => event === 'message.created').map(({ data }) => data.id as string);
  const stored = (await insist(trial, scene, (house) => transcriptOf(house, id))).map(
    (message) => message.id as string,
  );
  trial.must(
    isDeepStrictEqual([...created].sort(), [...stored].sort()),
    `${id}: ${created.length} messages were events, and ${stored.length} are stored`,
  );
};

/** A story shows all four: each run checks them. */
const all: Check = async (...given) => {
  for (const check of [silentAfterTakes, answeredOnce, sentToModel, eachEventOnce]) await check(...given);
};

/** The experiments of the desk, on a program. */
export const deskExperiments = (options: DeskOptions = {}): readonly Experiment[] => [
  experiment('D2', 'answers', all, options),
  experiment('D3', 'history', all, options),
  experiment('D4', 'stream', all, options),
  experiment('D1', 'kills', all, options),
];
