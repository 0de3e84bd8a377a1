/** Checks that an event exists if and only if its end is stored, and reaches the receiver at least once, signed (W1). */
import * as keys from '../../src/store/embedded/keys.ts';
import type { MemoryEngine } from '../../src/store/memory.ts';
import type { StoredDelivery, Webhook } from '../../src/store/store.ts';
import { WriteBatcher } from '../../src/store/write-batcher.ts';
import type { History, ReceivedEvent } from './history.ts';
import type { Oracle, State } from './oracle.ts';
import type { World } from './world.ts';

/** Milliseconds after which a delivery that is due should have come: for its lease and for pauses of its process. */
const lateMs = 60_000;

/** The stored ends of a state, by the names of their events. */
function endsOf({ turns, withdrawn, sessions }: State): { now: Set<string>; ever: Set<string> } {
  const named = (each: typeof turns): string[] =>
    [...each.values()].filter(({ finished }) => finished !== null).map(({ turn }) => `${turn.id} ${turn.status}`);
  const ended = [...sessions.values()]
    .map(({ session }) => ({ id: session.id, state: session.machine.state }))
    .filter(({ state }) => state === 'ended' || state === 'expired')
    .map(({ id, state }) => `${id} ${state}`);
  const now = new Set([...named(turns), ...ended]);
  // The event of an end that was withdrawn later may have been sent before.
  return { now, ever: new Set([...now, ...named(withdrawn)]) };
}

function nameOf(body: string): string {
  const { data } = JSON.parse(body) as {
    data: { readonly session_id: string; readonly turn_id: string | null; readonly status: string };
  };
  return `${data.turn_id ?? data.session_id} ${data.status}`;
}

/** All deliveries of a webhook: `WebhookStore.list` has only the newest, and an older one may still be pending. */
async function deliveriesOf(rows: MemoryEngine, { workspaceId, id }: Webhook): Promise<StoredDelivery[]> {
  const batcher = new WriteBatcher(rows);
  await batcher.open();
  const prefix = keys.deliveries(workspaceId, id);
  return Array.from(batcher.scan<StoredDelivery>(prefix, keys.endOf(prefix)), ([, row]) => row);
}

/** `rows` are the store's after the run, and `nowMs` its time. */
export async function checkEvents(
  { state, forgotten }: Pick<Oracle, 'state' | 'forgotten'>,
  { received }: Pick<History, 'received'>,
  rows: MemoryEngine,
  { mode, seeds }: { readonly mode: World['mode']; readonly seeds: Pick<World['seeds'], 'webhook'> },
  nowMs: number,
): Promise<string[]> {
  const { webhook } = seeds;
  if (webhook === null) return received.map(({ id }) => `events: ${id} came without a webhook`);
  const ends = endsOf(state);
  const ever = new Set([ends, ...forgotten.map(endsOf)].flatMap((each) => [...each.ever]));
  const accepted = new Set(received.filter(({ isAccepted }) => isAccepted).map(({ body }) => nameOf(body)));
  const stored = new Map((await deliveriesOf(rows, webhook)).map((row) => [nameOf(row.body), row]));
  return [
    ...[...ends.now].flatMap((name) => problemOfEnd(name, stored.get(name), accepted.has(name), mode, nowMs)),
    ...[...stored.keys()]
      .filter((name) => !ends.now.has(name))
      .map((name) => `events: ${name} is stored without an end`),
    ...received.flatMap((one) =>
      ever.has(nameOf(one.body)) ? [] : [`events: ${nameOf(one.body)} came without an end`],
    ),
    ...problemsOfRequests(received, mode),
  ];
}

function problemOfEnd(
  name: string,
  row: StoredDelivery | undefined,
  isAccepted: boolean,
  mode: World['mode'],
  nowMs: number,
): string[] {
  if (isAccepted) return [];
  if (row === undefined) return [`events: ${name} has none`];
  if (row.status !== 'pending') return [`events: ${name} is ${row.status}, and the receiver has not taken it`];
  // The clock of an embedded process says what is due, and was set back and forth.
  return mode !== 'embedded' && row.nextAtMs! < nowMs - lateMs
    ? [`events: ${name} has been due for ${Math.round((nowMs - row.nextAtMs!) / 1000)} s`]
    : [];
}

/** After a failover an end may be stored again, with another id and time. */
function problemsOfRequests(received: readonly ReceivedEvent[], mode: World['mode']): string[] {
  const [bodies, ids] = [new Map<string, string>(), new Map<string, string>()];
  return received.flatMap(({ id, body, isSigned }) => {
    const problems = isSigned ? [] : [`events: ${id} is not signed`];
    const name = nameOf(body);
    if ((bodies.get(id) ?? body) !== body) problems.push(`events: ${id} came with other bytes`);
    if (mode !== 'failover' && (ids.get(name) ?? id) !== id) problems.push(`events: ${name} came with another id`);
    bodies.set(id, body);
    ids.set(name, id);
    return problems;
  });
}
