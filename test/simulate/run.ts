/** One run: a world from a seed, its story, its end in fair weather, and the checker's verdict. */
import type { SessionContext } from '../../machines/session.ts';
import { draftSnapshot } from '../../src/host/assistants.ts';
import { nobody } from '../../src/actors/cause.ts';
import { createdMove } from '../../src/actors/history.ts';
import { activeSnapshot, keyIdOf } from '../../src/host/keys.ts';
import { makeKey } from '../../src/access/keys.ts';
import { limits } from '../../src/base/limits.ts';
import { EmbeddedStore } from '../../src/store/embedded.ts';
import { MemoryEngine } from '../../src/store/memory.ts';
import { pino } from 'pino';
import { SignIns } from '../../src/access/sign-ins.ts';
import type { DeskSettings } from '../../src/store/records/attendance.ts';
import type { Assistant, Store } from '../../src/store/store.ts';
import type { Bug } from './bugs.ts';
import { check } from './checker.ts';
import { deskNames, runAttendant } from './attendants.ts';
import { Client, Gossip, runOperator } from './clients.ts';
import { epochMs } from './clock.ts';
import { runFaults } from './faults.ts';
import { History } from './history.ts';
import { SimulatedHost } from './host.ts';
import { simulatedWebhook, vaultOf } from './receiver.ts';
import { Random, seededIds } from './random.ts';
import { runReleaser } from './releaser.ts';
import { Scheduler } from './scheduler.ts';
import { Server } from './server.ts';
import { functionNames, simulatedTool } from './tool.ts';
import { clearUp, drawWeather, operatorToken, type Mode, type Seeds, type World } from './world.ts';

export interface Verdict {
  readonly seed: number;
  readonly mode: Mode;
  /** The violations that the checker found, one line each; none if all is well. */
  readonly wrong: readonly string[];
  /** Two runs with the same digest are the same run. */
  readonly digest: string;
  readonly requests: number;
}

export interface RunOptions {
  readonly bug?: Bug | null;
  /** Is given the story, line by line. */
  readonly tell?: ((line: string) => void) | null;
}

/** Simulated milliseconds in which clients act and faults happen, and in which the world comes to rest. */
const storyMs = 60_000;
const restMs = 200_000;

const createdAt = Math.floor(epochMs / 1000) - 60;

export async function run(seed: number, mode: Mode, { bug = null, tell = null }: RunOptions = {}): Promise<Verdict> {
  const world = await build(seed, mode, bug, tell);
  const { scheduler, history, weather, hosts } = world;
  let over = false;
  const brokeOff = (error: unknown): unknown => history.wrong.push(`liveness: the story broke off: ${String(error)}`);
  const story = live(world)
    .catch(brokeOff)
    .then(() => (over = true));
  const rested = await scheduler.run(() => over, storyMs + restMs);
  if (rested) await story;
  else history.wrong.push('liveness: the run does not come to rest');
  for (const host of hosts) host.crash();
  clearUp(weather);
  const store = await leftStore(world);
  const wrong = await check(world, store);
  return { seed, mode, wrong, digest: history.digest(), requests: history.asked.length };
}

async function build(seed: number, mode: Mode, bug: Bug | null, tell: RunOptions['tell']): Promise<World> {
  const random = new Random(seed);
  const scheduler = new Scheduler(random);
  const history = new History(scheduler, tell ?? null);
  const rows = new MemoryEngine();
  const hosts: SimulatedHost[] = [];
  const parts = {
    mode,
    scheduler,
    history,
    weather: drawWeather(random),
    bug,
    rows,
    disk: null,
    cutOff: new Set<string>(),
    hosts,
  };
  const world = { ...parts, seeds: null as unknown as Seeds, server: null as unknown as Server };
  world.server = new Server(world);
  if (mode !== 'embedded') await world.server.open();
  const store = mode === 'embedded' ? new EmbeddedStore(rows) : world.server.store;
  if (mode === 'embedded') await store.open(epochMs);
  const terms = {
    isHooked: isHooked(bug, random),
    hasDesk: hasDesk(bug, random),
    hasReleases: hasReleases(bug, random),
  };
  world.seeds = await plant(store, random, terms);
  for (let number = 1; number <= (mode === 'embedded' ? 1 : random.between(2, 4)); number++)
    hosts.push(new SimulatedHost(world, `h${number}`));
  return world;
}

/** Bugs of other rules have no webhook: its traffic would change the seeds that find them. */
const isHooked = (bug: Bug | null, random: Random): boolean =>
  bug === null ? random.chance(0.8) : bug.breaks.includes('events');

/** Bugs of other rules have no desk, for the same reason. */
const hasDesk = (bug: Bug | null, random: Random): boolean =>
  bug === null ? random.chance(0.5) : bug.breaks.includes('desk');

/** Bugs of other rules have no changes of versions, for the same reason. */
const hasReleases = (bug: Bug | null, random: Random): boolean =>
  bug === null ? random.chance(0.5) : bug.breaks.includes('versions');

/** Signs two people in; resolves with their cookies. */
async function plantPeople(store: Store, random: Random): Promise<string[]> {
  const clock = { now: () => epochMs, monotonic: () => 0, after: () => ({ cancel: () => {} }), stop: () => {} };
  const ids = seededIds(random, clock);
  const signIns = new SignIns({ store, clock, ids, log: pino({ level: 'silent' }), operatorToken });
  const people: string[] = [];
  for (const name of deskNames) {
    const { cookie } = await signIns.begin({ name }, { address: '192.0.2.7', agent: null });
    people.push(`${signIns.cookieName}=${cookie}`);
  }
  return people;
}

const drawnDesk = (random: Random): DeskSettings => ({
  enabled: true,
  waitSeconds: random.pick([10, 40, 120]),
  whileWaiting: random.pick(['assistant', 'silent']),
  texts: { waiting: 'Please wait.', joined: null, left: '{{person.name}} has left.', nobody: null },
});

/** Creates the records that the console would have made before the first request. */
async function plant(
  store: Store,
  random: Random,
  { isHooked, hasDesk, hasReleases }: Readonly<Record<'isHooked' | 'hasDesk' | 'hasReleases', boolean>>,
): Promise<Seeds> {
  const ids = seededIds(random, { now: () => epochMs - 60_000 });
  const workspaceId = ids.make('wks');
  const turnsInFlightMax = random.between(2, 4) + (hasReleases ? 6 : 0);
  await store.catalog.create('workspace', {
    id: workspaceId,
    name: 'w',
    retentionDays: 30,
    turnsInFlightMax,
    createdAt,
    updatedAt: createdAt,
  });
  const toolIds: string[] = [];
  for (const name of functionNames) {
    const id = ids.make('tool');
    toolIds.push(id);
    await store.catalog.create('tool', simulatedTool(name, id, workspaceId, createdAt));
  }
  const assistants: Assistant[] = [];
  const plantAssistant = async (made: Assistant): Promise<void> => {
    assistants.push(made);
    await store.catalog.create('assistant', made, createdMove(made.machine, epochMs, nobody));
  };
  for (const maxCallSeconds of [random.between(5, 60), 3600, 7200]) {
    const id = ids.make('asst');
    await plantAssistant({
      ...assistant(id, workspaceId, maxCallSeconds, random.chance(0.5) ? 'Hello 👋' : null),
      toolIds,
      toolRoundsMax: 2,
      ...(hasDesk && { desk: drawnDesk(random) }),
    });
  }
  const assistantIds = assistants.map(({ id }) => id);
  const briefId = ids.make('asst');
  await plantAssistant(assistant(briefId, workspaceId, 10, null));
  const keys = [];
  for (const requests of [random.between(5, 100), random.between(20, 200), 10_000]) {
    const { publicId, text, digest } = makeKey(ids);
    const id = keyIdOf(publicId);
    const limits = { requests, speech: 30, transcriptionTokens: 10 };
    const rest = {
      workspaceId,
      publicId,
      digest,
      name: 'k',
      assistantIds: null,
      expiresAt: null,
      limits,
      createdAt,
      revokedAt: null,
    };
    const machine = activeSnapshot(null);
    await store.catalog.create('key', { id, ...rest, machine }, createdMove(machine, epochMs, nobody));
    keys.push({ id, text });
  }
  const people = hasDesk ? await plantPeople(store, random) : [];
  const webhook = isHooked ? simulatedWebhook(ids.make('whk'), workspaceId, createdAt, vaultOf(ids)) : null;
  if (webhook !== null) await store.catalog.create('webhook', webhook);
  return { workspaceId, turnsInFlightMax, assistantIds, assistants, briefId, keys, people, webhook, hasReleases };
}

function assistant(id: string, workspaceId: string, maxCallSeconds: number, greeting: string | null): Assistant {
  const model = {
    provider: 'simulated',
    name: 'm',
    credentialId: null,
    systemPrompt: null,
    temperature: null,
    outputTokensMax: null,
  };
  const channels = { voice: false, link: false, widget: false };
  const rest = {
    name: 'a',
    description: null,
    visitorFields: [],
    voice: null,
    link: null,
    createdAt,
    updatedAt: createdAt,
  };
  return {
    id,
    workspaceId,
    greeting,
    channels,
    maxCallSeconds,
    model,
    ...rest,
    machine: { ...draftSnapshot(false), state: 'published' },
  };
}

async function live(world: World): Promise<void> {
  const { scheduler, hosts, seeds, weather, history, mode } = world;
  const { random } = scheduler;
  await Promise.all(hosts.map((host) => host.start()));
  const gossip = new Gossip();
  const clients = Array.from(
    { length: random.between(2, 6) },
    (_, index) => new Client(world, gossip, random.pick(seeds.keys), `c${index}`),
  );
  const talkers = Array.from(
    { length: seeds.hasReleases ? 8 : 0 },
    (_, index) => new Client(world, gossip, seeds.keys.at(-1)!, `t${index}`),
  );
  const people = seeds.people.map((cookie, index) => runAttendant(world, gossip, cookie, deskNames[index]!, storyMs));
  const acting = Promise.all([
    ...clients.map((client) => client.run(storyMs)),
    runOperator(world, storyMs),
    ...people,
    ...talkers.map((talker) => talker.talk(storyMs)),
    ...(seeds.hasReleases ? [runReleaser(world, storyMs)] : []),
  ]);
  await runFaults(world, storyMs);
  clearUp(weather);
  history.note('the weather clears up');
  for (const host of hosts) {
    host.resume();
    await host.start();
  }
  await acting;
  // Every turn in flight has a time limit, and a sweep finds the turns of a dead process.
  await scheduler.sleep(70_000);
  await new Client(world, gossip, seeds.keys.at(-1)!, 'survey').survey();
  await probe(world, gossip);
  await scheduler.sleep(10_000);
  if (mode !== 'embedded') await outlive(world, gossip);
  await bereave(world, gossip);
  await scheduler.sleep(10_000);
}

/** Begins as many turns at once as there are slots: a leaked slot is missing now, and a doubled one gives an extra turn. */
async function probe(world: World, gossip: Gossip): Promise<void> {
  const { seeds, history, scheduler } = world;
  const client = new Client(world, gossip, seeds.keys.at(-1)!, 'probe');
  const sessions: string[] = [];
  while (sessions.length <= seeds.turnsInFlightMax) {
    const created = await client.create(seeds.assistantIds.at(-1));
    if (created.status !== 201)
      return void history.wrong.push(
        `liveness: no session could be made: ${created.status} ${JSON.stringify(created.json)}`,
      );
    sessions.push(created.json.id);
  }
  const chats = sessions.slice(1).map((id) => client.say(id));
  await scheduler.sleep(1000);
  const last = await client.say(sessions[0]!);
  if (last.status !== 429)
    history.wrong.push(`slots: turn ${sessions.length} of ${seeds.turnsInFlightMax} was answered ${last.status}`);
  for (const { status, stream, json } of await Promise.all(chats)) {
    if (status !== 200 || stream?.events.at(-1)?.event !== 'turn.completed')
      history.wrong.push(
        `slots: a turn beneath the ceiling was answered ${status} ${JSON.stringify(json ?? stream?.events)}`,
      );
  }
}

/** A process dies in the midst of a turn: by when its session must be free again (promise P5). */
async function bereave(world: World, gossip: Gossip): Promise<void> {
  const { seeds, history, scheduler, hosts, mode } = world;
  const client = new Client(world, gossip, seeds.keys.at(-1)!, 'probe');
  const sessionId = (await client.create(seeds.assistantIds.at(-1))).json.id;
  void client.say(sessionId);
  await scheduler.sleep(scheduler.random.between(500, 1500));
  const host = hosts.find(({ name }) => name === history.asked.at(-1)!.host)!;
  const activeTurn = async (): Promise<string | null> => {
    const session = await (mode === 'embedded' ? host.store! : world.server.store).sessions.read(
      seeds.workspaceId,
      sessionId,
    );
    return (session!.record.machine.context as SessionContext).activeTurnId;
  };
  const left = await activeTurn();
  host.crash();
  if (mode === 'embedded' || hosts.length === 1) void host.start();
  await scheduler.sleep(mode === 'embedded' ? 1000 : limits.leaseMs + 1000);
  // The client may have begun another turn.
  if (left === null || (await activeTurn()) === left)
    history.wrong.push(`liveness: the turn ${left} of a process that died is in flight still`);
  await host.start();
}

/**
 * A process may die with a turn shortly before its session expires: the time by which another must have cut it (promise
 * P10).
 */
async function outlive({ seeds, history, scheduler, hosts, server, ...world }: World, gossip: Gossip): Promise<void> {
  const { random } = scheduler;
  for (const host of hosts) host.jump(0);
  const client = new Client(
    { seeds, history, scheduler, hosts, server, ...world },
    gossip,
    seeds.keys.at(-1)!,
    'probe',
  );
  const { id: sessionId, expires_at: expiresAt } = (await client.create(seeds.briefId)).json;
  const until = (ms: number): Promise<void> => scheduler.sleep(expiresAt * 1000 - server.nowMs + ms);
  const lastMs = random.between(300, 1500);
  await until(-lastMs);
  void client.say(sessionId);
  await until(-random.between(0, lastMs - 200));
  const host = hosts.find(({ name }) => name === history.asked.at(-1)!.host)!;
  host.crash();
  await until(limits.stopMs + limits.orphansMs + 300);
  const session = await server.store.sessions.read(seeds.workspaceId, sessionId);
  const { items } = await server.store.sessions.messages(seeds.workspaceId, sessionId, {
    limit: 1,
    after: null,
    order: 'desc',
  });
  const found = `${session?.record.machine.state} with a message ${items[0]?.stopReason}`;
  if (found !== 'expired with a message expired')
    history.wrong.push(`liveness: the session of a turn whose process died before its time was over is ${found}`);
  await host.start();
}

async function leftStore({ mode, rows, server }: World): Promise<Store> {
  if (mode !== 'embedded') return server.store;
  const store = new EmbeddedStore(rows);
  await store.open(epochMs);
  return store;
}
