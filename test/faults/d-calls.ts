/**
 * D1 in calls: a person takes the session at a random moment of a spoken turn, in the call's process or in another.
 * Checks that nothing of the assistant is stored, heard or called afterwards, and that each word that the call has taken
 * is stored once.
 */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { callOn, clipOf, type Caller } from '../api/caller.ts';
import { countingTool, type CountingTool } from '../api/counting-tool.ts';
import type { House } from '../api/house.ts';
import { credentialOf, end, transcriptOf } from '../api/talk.ts';
import type { Owner } from '../folders.ts';
import { callOf, delta, done, eventStream, provider } from '../providers/model/provider.ts';
import type { DeskOptions } from './d-desk.ts';
import type { Experiment, StoreKind, Trial } from './experiment.ts';
import { Loudspeaker } from './loudspeaker.ts';
import { Ground, lackingRedis, several } from './ground.ts';

/** The processes that share Redis. */
const processesCount = 2;
/** The text of all speech: its end lets a call wait for more. */
const spoken = 'hello and';

interface Scene {
  readonly houses: readonly House[];
  readonly tool: CountingTool;
  /** Assistants whose visitors wait with the assistant, and in silence. */
  readonly assistants: readonly string[];
}

/** Says words with pauses, calls a tool in the middle, and says more. */
async function answer(response: ServerResponse, isLast: boolean): Promise<void> {
  response.writeHead(200, eventStream);
  for (const word of ['So', ' let', ' me', ' see.', ' I', ' look', ' it', ' up.']) {
    if (response.destroyed) return;
    response.write(delta(word));
    await pause(5);
  }
  response.write(isLast ? delta('', 'stop') : callOf('look_up') + delta('', 'tool_calls'));
  response.end(done);
}

async function openScene(t: Owner, store: StoreKind, command: string | undefined): Promise<Scene> {
  const ground = await Ground.open(t, store);
  const model = await provider((response, { body }: any) => {
    void answer(
      response,
      body.messages.some(({ role }: any) => role === 'tool'),
    );
  });
  t.teardown(() => model.close());
  const houses = await several(store === 'redis' ? processesCount : 1, () =>
    ground.server({}, undefined, command === undefined ? {} : { command }),
  );
  const [house] = houses as [House];
  // The detector is loaded when it is first needed.
  for (const each of houses) await clipOf(each);
  const tool = await countingTool(t, house, {
    functions: [{ name: 'look_up', description: 'Looks up', parameters: { type: 'object' } }],
  });
  const credential = await credentialOf(house, 'openai', model.baseUrl);
  const assistants: string[] = [];
  for (const while_waiting of ['assistant', 'silent'])
    assistants.push(
      (
        await house.assistant({
          channels: { voice: true },
          model: { provider: 'openai', name: 'm', credential_id: credential.id },
          voice: {
            provider: 'synthetic',
            name: 'character_ms=40',
            transcription_name: `texts=${spoken.replace(' ', '_')}`,
          },
          tool_ids: [tool.id],
          desk: { enabled: true, wait_seconds: 3600, while_waiting },
        })
      ).id,
    );
  return { houses, tool, assistants };
}

const inDesk = (house: House, id: string, verb: string) =>
  house.console(`/workspaces/${house.workspaceId}/sessions/${id}/${verb}`, { method: 'POST' });

/** The words of a visitor, and whether the call has taken them: then they are stored once, and at most once otherwise. */
interface Words {
  readonly text: string;
  isTaken(caller: Caller): boolean;
}

const isTold = (caller: Caller, text: string): boolean =>
  caller.heard.some(
    (message) => ['turn.started', 'message.accepted'].includes(message.type) && message['text'].includes(text),
  );

/** Says or writes words, after asking for a person or not, and now and then writes others while they are answered. */
async function visit(
  { random, seed }: Trial,
  house: House,
  caller: Caller,
  speaks: boolean,
  silentMs: number,
): Promise<readonly Words[]> {
  const askForPerson = () => house.ask(`/sessions/${caller.session.id}/ask`, { method: 'POST' });
  if (random.chance(0.5)) await askForPerson();
  const write = (text: string): void => {
    if (caller.socket.readyState === caller.socket.OPEN) caller.send({ type: 'message', text });
  };
  const [first, second] = [`Where is parcel ${seed}?`, `And ${seed} more?`];
  if (speaks) caller.say(await clipOf(house), silentMs);
  else write(first);
  const writes = random.chance(0.4);
  if (writes) setTimeout(() => write(second), random.between(0, 1_200));
  return [
    speaks
      ? {
          text: spoken,
          isTaken: ({ heard }) => heard.some(({ type, text }) => type === 'transcript.final' && text !== ''),
        }
      : { text: first, isTaken: (caller) => caller.states().includes('thinking') },
    ...(writes ? [{ text: second, isTaken: (caller: Caller) => isTold(caller, second) }] : []),
  ];
}

async function take(trial: Trial, { houses, tool, assistants }: Scene): Promise<void> {
  const { random } = trial;
  const [calling, taking] = [random.pick(houses), random.pick(houses)];
  const session = await calling.session(random.pick(assistants));
  // Words of a turn that has not ended are in hand at the take.
  const [speaks, isUnfinished] = [random.chance(0.5), random.chance(0.5)];
  const caller = await callOn(calling, session);
  const { id } = session;
  // Some clients report what they play, and others go by the clock.
  if (random.chance(0.5)) new Loudspeaker(caller);
  const words = await visit(trial, calling, caller, speaks, isUnfinished ? 1_000 : 1_500);
  if (speaks && isUnfinished) await caller.until('transcript.final');
  else await pause(random.between(0, 3_000));
  const taken = await inDesk(taking, id, 'take');
  const takenAt = performance.now();
  trial.must(taken.status === 200, `${id}: the take is answered ${taken.status}`);
  const replies = async (): Promise<any[]> =>
    (await transcriptOf(taking, id)).filter(({ role }) => role === 'assistant');
  const said = await replies();
  const then = await heardBefore(caller);
  // A request that left before the take is read by the tool now.
  await tool.settled();
  const reached = tool.reached.length;
  const code = await caller.closed;
  trial.took('until the call ended', performance.now() - takenAt);
  trial.count(said.length === 0 ? 'before a reply' : `after ${said.at(-1).stop_reason}`);
  const ended = caller.heard.at(-1);
  trial.must(code === 1000 && ended?.['reason'] === 'person', `${id}: it closed with ${code} ${JSON.stringify(ended)}`);
  const failures = caller.heard.filter(({ type }) => type === 'turn.failed' || type === 'error');
  trial.must(
    failures.length === 0,
    `${id}: a failure, though a person answers: ${JSON.stringify(caller.heard.slice(-12))}`,
  );
  silent(trial, caller, then, said, await replies());
  trial.must(tool.reached.length === reached, `${id}: ${tool.reached.length - reached} calls left after the take`);
  storedOnce(trial, caller, words, await transcriptOf(taking, id));
  await end(taking, id);
  await inOrder(trial, taking, id);
}

/** The samples and characters that the call's process had sent before it read a message that followed the take. */
async function heardBefore(caller: Caller): Promise<string> {
  if (caller.socket.readyState === caller.socket.OPEN) {
    caller.socket.ping();
    await Promise.race([once(caller.socket, 'pong'), caller.closed]);
  }
  return heardOf(caller);
}

const heardOf = (caller: Caller): string =>
  JSON.stringify([...caller.received].map(([id, samples]) => [id, samples, caller.textOf(id).length]));

/** A reply neither grows nor is sent after the take, and what was read of it is stored. */
function silent(trial: Trial, caller: Caller, then: string, said: readonly any[], later: readonly any[]): void {
  const { id } = caller.session;
  trial.must(JSON.stringify(said) === JSON.stringify(later), `${id}: replies grew after the take`);
  trial.must(then === heardOf(caller), `${id}: ${heardOf(caller)} was sent, and ${then} before the take`);
  for (const [messageId, samples] of caller.received) {
    const heard = caller.textOf(messageId);
    const content = said.find((message) => message.id === messageId)?.content ?? '';
    trial.must(content.startsWith(heard), `${id}: "${heard}" was heard, and "${content}" is stored`);
    trial.count('samples', samples);
  }
}

function storedOnce(trial: Trial, caller: Caller, words: readonly Words[], messages: readonly any[]): void {
  const { id } = caller.session;
  const users = messages.filter(({ role }) => role === 'user');
  for (const one of words) {
    const found = users.filter(({ content }) => content.includes(one.text));
    const isTaken = one.isTaken(caller);
    trial.must(
      found.length === 1 || (found.length === 0 && !isTaken),
      `${id}: "${one.text}" is in the transcript ${found.length} times: ${JSON.stringify(users)}`,
    );
    for (const { turn_id: turnId } of found) trial.count(turnId === null ? 'accepted' : 'answered');
  }
  for (const accepted of caller.heard.filter(({ type }) => type === 'message.accepted')) {
    const row = users.find((message) => message.id === accepted['message_id']);
    trial.must(
      row?.content === accepted['text'] && row?.turn_id === null,
      `${id}: ${JSON.stringify(accepted)} is stored as ${JSON.stringify(row)}`,
    );
  }
}

/** The events have all numbers, and none of the assistant's comes after the take. */
async function inOrder(trial: Trial, house: House, id: string): Promise<void> {
  const events = await (await house.stream(`/sessions/${id}/events?after=0`)).rest();
  const numbers = events.map((event) => Number(event.id));
  trial.must(
    numbers.every((number, index) => number === index + 1),
    `${id}: the numbers are ${numbers.join(' ')}`,
  );
  const at = events.findIndex(
    ({ event, data }) => event === 'attendance.changed' && data.attendance.state === 'person',
  );
  const late = events
    .slice(at)
    .filter(
      ({ event, data }) => event.startsWith('turn.') || (event === 'message.created' && data.role === 'assistant'),
    );
  trial.must(late.length === 0, `${id}: ${JSON.stringify(late)} after the take`);
}

export const takenCalls = ({ command }: DeskOptions = {}): Experiment => ({
  promise: 'D1',
  name: 'calls',
  does: 'takes at random moments of spoken turns with tool calls',
  stores: ['lmdb', 'redis'],
  abreast: { lmdb: 2, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const scene = await openScene(t, store, command);
    return (trial) => take(trial, scene);
  },
});
