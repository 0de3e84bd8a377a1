/** `parley inspect`, and that Stately's own receivers read its output (contract 9: `format=stately`). */
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { createBrowserReceiver, createWebSocketReceiver, type StatelyInspectionEvent } from '@statelyai/inspect';
import { WebSocket } from 'ws';
import { createMachine, type AnyMachineSnapshot } from 'xstate';
import { openHouse, type House } from '../api/house.ts';
import { begin, run, start } from './support.ts';

t.test('`parley inspect` opens an actor of a running server', async (t) => {
  const house = await openHouse(t);
  const env = { PARLEY_URL: house.url, PARLEY_OPERATOR_TOKEN: house.operatorToken };
  await t.test('lines that a receiver in a browser takes', (t) => lines(t, house, env));
  await t.test("a bridge for Stately's receiver", (t) => bridged(t, house, env));
  await t.test('plain lines, and what is wrong', (t) => plain(t, house, env));
});

type Environment = Readonly<Record<string, string>>;

/** A session that began, was refused a second turn, and was ended before the first had ended. */
async function aLife(house: House): Promise<string> {
  const assistant = await house.assistant({ model: { provider: 'synthetic', name: 'hang_at=2' } });
  const { id } = await house.session(assistant.id);
  const turn = await house.stream(`/sessions/${id}/chat`, { body: { message: 'Hello' } });
  await turn.next();
  await house.ask(`/sessions/${id}/chat`, { body: { message: 'and?' } });
  await house.ask(`/sessions/${id}/end`, { method: 'POST' });
  await turn.rest();
  return id;
}

/**
 * Checks an actor's events as a viewer would use them: it makes the machine of the definition, and restores each
 * snapshot.
 */
function drawn(t: Test, events: readonly StatelyInspectionEvent[], id: string): void {
  const own = events.filter(({ sessionId }) => sessionId === id);
  const actor = own.find((event) => event.type === '@xstate.actor')!;
  const machine = createMachine(JSON.parse(actor.definition!));
  const values = own.flatMap((event) =>
    event.type === '@xstate.event' ? [] : [(event.snapshot as AnyMachineSnapshot).value],
  );
  for (const value of values)
    t.equal(machine.resolveState({ value, context: {} }).value, value, `the machine has the state ${value}`);
  t.throws(() => machine.resolveState({ value: 'nowhere', context: {} }), 'and no other');
  t.same(values.slice(-4), ['streaming', 'streaming', 'ended', 'ended']);
  const happened = own.flatMap((event) =>
    event.type === '@xstate.event' ? [event.event as { type: string; refused?: string }] : [],
  );
  t.match(happened.slice(-4), [
    { type: 'chat', refused: undefined },
    { type: 'chat', refused: 'turn_in_progress' },
    { type: 'end' },
    { type: 'finished' },
  ]);
}

const hasEnded = (event: StatelyInspectionEvent): boolean =>
  event.type === '@xstate.snapshot' && event.event.type === 'finished';

interface Received {
  readonly events: StatelyInspectionEvent[];
  readonly receive: (event: StatelyInspectionEvent) => void;
  /** Resolves once there is such an event. */
  until(wanted: (event: StatelyInspectionEvent) => boolean): Promise<void>;
}

function gathered(): Received {
  const events: StatelyInspectionEvent[] = [];
  let look = (): void => {};
  return {
    events,
    receive(event) {
      events.push(event);
      look();
    },
    until: (wanted) =>
      new Promise((resolve) => {
        look = () => events.some(wanted) && resolve();
        look();
      }),
  };
}

async function lines(t: Test, house: House, env: Environment): Promise<void> {
  const command = start(t, ['inspect', '--stately', '--workspace', 'default'], { env });
  // The receiver for a window: it takes messages of the protocol alone.
  let post: (message: { data: unknown }) => void = () => {};
  const window = {
    addEventListener: (_: string, listener: typeof post) => (post = listener),
    opener: null,
    parent: null,
    self: null,
    top: null,
  };
  const { events, receive, until } = gathered();
  createBrowserReceiver({ window: window as never }).subscribe(receive);
  let [rest, sent] = ['', 0];
  command.stdout.on('data', (text: string) => {
    const whole = (rest + text).split('\n');
    rest = whole.pop()!;
    for (const line of whole) {
      sent++;
      post({ data: JSON.parse(line) });
    }
  });
  // The feed begins with who is awake, as the workspace always is.
  await until(({ sessionId }) => sessionId === house.workspaceId);
  const id = await aLife(house);
  await until((event) => event.sessionId === id && hasEnded(event));
  post({ data: { type: 'event' } });
  t.equal(events.length, sent, 'every line is a message of the protocol, and nothing else is taken');
  drawn(t, events, id);
  command.kill('SIGTERM');
  await command.finished;
}

async function bridged(t: Test, house: House, env: Environment): Promise<void> {
  const command = start(t, ['inspect', '--stately', '--port', '0', '--origin', 'https://viewer.example'], { env });
  const [line] = (await once(command.stdout, 'data')) as [string];
  t.match(line, /^ws:\/\/127\.0\.0\.1:\d+\n$/);
  const url = line.trim();
  const { events, receive, until } = gathered();
  createWebSocketReceiver({ server: url }).subscribe(receive);
  // The feed begins with who is awake, as the workspace always is.
  await until(({ sessionId }) => sessionId === house.workspaceId);
  const id = await aLife(house);
  await until((event) => event.sessionId === id && hasEnded(event));
  drawn(t, events, id);
  t.equal(await opened(url, 'https://viewer.example'), true);
  t.equal(await opened(url, 'https://elsewhere.example'), false, 'a page of a site that nobody named reads nothing');
  command.kill('SIGTERM');
  await command.finished;
}

function opened(url: string, origin: string): Promise<boolean> {
  const socket = new WebSocket(url, { origin });
  return new Promise((resolve) => {
    socket.on('error', () => resolve(false));
    socket.on('open', () => {
      socket.terminate();
      resolve(true);
    });
  });
}

async function plain(t: Test, house: House, env: Environment): Promise<void> {
  const command = begin(t, ['inspect', '--kind', 'workspace'], { env });
  const [line] = (await once(command.stdout, 'data')) as [string];
  t.match(JSON.parse(line), {
    type: 'actors',
    actors: [{ kind: 'workspace', id: house.workspaceId, state: 'available' }],
  });
  t.match(await run(['inspect', '--port', '0'], { env }), { code: 2, stderr: /--port needs --stately/ });
  t.match(await run(['inspect', '--stately', '--origin', 'https://a.example'], { env }), {
    code: 2,
    stderr: /--origin needs --port/,
  });
  t.match(await run(['inspect'], { env: { ...env, PARLEY_OPERATOR_TOKEN: 'not-the-token-of-this-server' } }), {
    code: 1,
    stderr: /does not accept this operator token/,
  });
  t.match(await run(['inspect', '--kind', 'nothing'], { env }), { code: 2 });
  await house.stop();
  t.match(await command.finished, { code: 1, stderr: /The server ended the feed/ });
  t.match(await start(t, ['inspect'], { env }).finished, { code: 1, stderr: /The server cannot be reached/ });
}
