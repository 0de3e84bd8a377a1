/** Visitors on a host in memory, with a manual clock. */
import { shownUse, type VisitorUse } from '../../../src/host/link-budget.ts';
import type { Session } from '../../../src/store/store.ts';
import type { ModelSink } from '../../../src/providers/model.ts';
import type { TurnRunner } from '../../../src/turn/runner.ts';
import { LinkRefused } from '../../../src/host/visitors.ts';
import { Scene, StagedModel, unreported } from '../../host/scene.ts';

export const dayMs = 86_400_000;
export const unlimited = {
  minutes_per_day: null,
  concurrent_visitors: null,
  messages_per_visitor_per_day: null,
  messages_per_address_per_hour: null,
} as const;

export interface LinkTurn {
  readonly runner: TurnRunner;
  readonly model: ModelSink;
}

const keyAt = (address: string, atMs: number): string => `${address} on day ${Math.floor(atMs / dayMs)}`;

export const visitorOf = (
  scene: Scene,
  visitorId: string,
  limits: VisitorUse['limits'] = unlimited,
  address = 'somewhere',
): VisitorUse => ({
  assistantId: scene.assistantId,
  visitorId,
  isSigned: false,
  addressKey: (atMs) => keyAt(address, atMs),
  limits,
  placeMsMax: scene.host.placeMsMax,
});

export async function linkSession(
  { host, workspaceId, assistantId }: Scene,
  visitorId: string,
  maxCallSeconds = 7 * 86_400,
): Promise<Session> {
  const wanted = {
    workspaceId,
    assistantId,
    channel: 'link',
    visitor: {},
    link: { visitorId, clock: null },
    metadata: {},
    maxCallSeconds,
    greeting: null,
    remember: null,
  } as const;
  return (await host.sessions.create(wanted)).session;
}

/** A message: the turn that it begins. Throws the refusal. */
export async function say(scene: Scene, sessionId: string, use: VisitorUse, remember = null): Promise<LinkTurn> {
  const model = new StagedModel();
  const wanted = {
    message: 'Hello',
    assistantRefusal: null,
    takesSlot: false,
    use,
    remember,
    model,
    reports: unreported,
  };
  const started = await scene.host.turns.begin(await scene.actor(sessionId), wanted);
  if (started.kind !== 'started') throw new Error(`The turn is ${started.kind}.`);
  return { runner: started.runner, model: model.sink! };
}

/** Minutes and visitors as the console shows them, in milliseconds. */
export async function used({
  store,
  workspaceId,
  assistantId,
  clock,
}: Scene): Promise<{ ms: number; visitors: number }> {
  const [ms, visitors] = await store.limits.used(workspaceId, shownUse(assistantId), clock.now());
  return { ms: ms!, visitors: visitors! };
}

/** The minutes of an address on this day, in milliseconds, and its visitors who are present. */
export async function usedAt(
  { store, workspaceId, assistantId, clock }: Scene,
  address = 'somewhere',
): Promise<{ ms: number; visitors: number }> {
  const name = `${assistantId}/address/${keyAt(address, clock.now())}`;
  const looked = [
    { kind: 'counter', name: `${name}/minutes`, periodMs: dayMs },
    { kind: 'place', name: `${name}/visitors` },
  ] as const;
  const [ms, visitors] = await store.limits.used(workspaceId, looked, clock.now());
  return { ms: ms!, visitors: visitors! };
}

/** The reply says some words and ends. */
export async function sealed(turn: LinkTurn, words = 'one'): Promise<void> {
  turn.model.text(words);
  turn.model.end();
  await turn.runner.over;
}

/** Resolves with the limits that refuse, and for how many seconds. */
export async function refusal(asked: Promise<unknown>): Promise<[readonly string[], number | undefined]> {
  const error = await asked.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof LinkRefused)) throw new Error(`not refused but ${String(error)}`);
  return [error.limiters, error.seconds];
}

/** Just before a midnight. */
export async function lateAtNight(beforeMs: number): Promise<Scene> {
  const scene = await Scene.open();
  scene.clock.advance(dayMs - (scene.clock.now() % dayMs) - beforeMs);
  return scene;
}
