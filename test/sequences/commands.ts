/** Commands of clients and the console; each answer is compared with the machines' decision. */
import { deepEqual, equal } from 'node:assert/strict';
import fc from 'fast-check';
import { errors, type ErrorName } from '../../src/base/errors.ts';
import type { Answer, House } from '../api/house.ts';
import { kinds, sessionsOf, type Model } from './model.ts';

/** The server's side of a sequence: a new workspace. */
export interface Real {
  readonly house: House;
  readonly workspaceId: string;
  readonly key: string;
  readonly keyId: string;
  readonly assistantIds: readonly string[];
  readonly sessionIds: readonly string[];
  /**
   * The sequence has its own address behind a trusted proxy: of one address only so many refused keys are checked
   * (contract 4).
   */
  readonly headers: Readonly<Record<string, string>>;
}

let addresses = 0;

type Command = fc.AsyncCommand<Model, Real>;

const must = async (answer: Promise<Answer>, status: number): Promise<any> => {
  const { status: got, json, text } = await answer;
  equal(got, status, text);
  return json;
};

/** A workspace with two turns at a time, a key, an assistant of each kind, and a session for each of `sessionsOf`. */
export async function openReal(house: House): Promise<Real> {
  const make = (path: string, body: object) => must(house.console(path, { body }), 201);
  const { id: workspaceId } = await make('/workspaces', { name: 'sequence', turns_in_flight_max: 2 });
  const inside = `/workspaces/${workspaceId}`;
  const { id: keyId, key } = await make(`${inside}/keys`, { name: 'k', limits: { requests: 1_000_000 } });
  const names = { whole: 'tokens=2', hanging: 'tokens=9,hang_at=2' };
  const assistantIds: string[] = [];
  for (const kind of kinds) {
    const { id } = await make(`${inside}/assistants`, {
      name: kind,
      model: { provider: 'synthetic', name: names[kind] },
    });
    await must(house.console(`${inside}/assistants/${id}/publish`, { method: 'POST' }), 200);
    assistantIds.push(id);
  }
  const sessionIds: string[] = [];
  for (const assistant of sessionsOf)
    sessionIds.push(
      (await must(house.ask('/sessions', { key, body: { assistant_id: assistantIds[assistant] } }), 201)).id,
    );
  const at = ++addresses;
  const headers = { 'x-forwarded-for': `10.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}` };
  return { house, workspaceId, key, keyId, assistantIds, sessionIds, headers };
}

/** Ends what still runs. */
export const closeReal = ({ house, workspaceId }: Real): Promise<unknown> =>
  must(house.console(`/workspaces/${workspaceId}`, { method: 'DELETE' }), 204);

function refused(answer: Answer, code: string): void {
  deepEqual([answer.status, answer.json?.error?.code], [errors[code as ErrorName].status, code]);
}

/** With the key, unless the machine refuses it: then the answer must say so too. */
async function asked(
  model: Model,
  { house, key, headers }: Real,
  path: string,
  ask: object,
  check: (answer: Answer) => void,
): Promise<void> {
  const refusal = model.authenticate();
  const answer = await house.ask(path, { key, headers, ...ask });
  if (refusal === null) check(answer);
  else refused(answer, refusal);
}

const command = (name: string, run: (model: Model, real: Real) => Promise<void>): Command => ({
  check: () => true,
  run,
  toString: () => name,
});

/** A message; the stream is read to its end, or left once the turn is in flight. */
const say = (index: number): Command =>
  command(`say ${index}`, async (model, real) => {
    const path = `/sessions/${real.sessionIds[index]}/chat`;
    const body = { message: `message ${index}` };
    const refusal = model.authenticate() ?? model.chat(index, 'begun');
    if (refusal !== null)
      return refused(await real.house.ask(path, { key: real.key, headers: real.headers, body }), refusal);
    const stream = await real.house.stream(path, { key: real.key, headers: real.headers, body });
    model.named(index, stream.turnId, body.message);
    if (kinds[sessionsOf[index]!] === 'hanging') {
      deepEqual([(await stream.next())?.event, (await stream.next())?.event], ['turn.started', 'message.delta']);
      return stream.leave();
    }
    equal((await stream.rest()).at(-1)?.event, 'turn.completed');
    model.finished(index, stream.turnId, 'completed');
  });

/** The newest turn of the session, in flight or not; or an unknown one. */
const abort = (index: number, known: boolean): Command =>
  command(`abort ${index}${known ? '' : ' of nothing'}`, async (model, real) => {
    const turnId = known ? [...model.sessions[index]!.turns.keys()].at(-1) : undefined;
    const path = `/sessions/${real.sessionIds[index]}/turns/${turnId ?? 'turn_00000000000000000000000000'}/abort`;
    await asked(model, real, path, { method: 'POST' }, (answer) => {
      if (turnId === undefined) return refused(answer, 'turn_not_found');
      model.stopping(index, { type: 'abort', at: Date.now(), turnId });
      deepEqual([answer.status, answer.json.status], [200, model.sessions[index]!.turns.get(turnId)!.status]);
    });
  });

const end = (index: number): Command =>
  command(`end ${index}`, (model, real) =>
    asked(model, real, `/sessions/${real.sessionIds[index]}/end`, { method: 'POST' }, (answer) => {
      model.stopping(index, { type: 'end', at: Date.now() });
      deepEqual([answer.status, answer.json.status, answer.json.active_turn_id], [200, 'ended', null]);
    }),
  );

/** The session's view, and its whole transcript. */
const look = (index: number): Command =>
  command(`look at ${index}`, async (model, real) => {
    const { machine, turns } = model.sessions[index]!;
    const path = `/sessions/${real.sessionIds[index]}`;
    await asked(model, real, path, {}, ({ json }) => {
      deepEqual(
        [json.status, json.active_turn_id],
        [machine.state === 'streaming' ? 'open' : machine.state, model.activeTurn(index)],
      );
    });
    await asked(model, real, `${path}/transcript?limit=100`, {}, ({ json }) => {
      const told = json.data.map(({ role, status, content, turn_id }: any) => [
        turn_id,
        role,
        role === 'user' ? content : status,
      ]);
      const due = [...turns].flatMap(([id, { said, status }]) => [
        [id, 'user', said],
        [id, 'assistant', status === 'aborted' ? 'partial' : status],
      ]);
      deepEqual(told, due);
    });
  });

const move = (assistant: number, verb: 'publish' | 'unpublish' | 'disable' | 'enable'): Command =>
  command(`${verb} ${kinds[assistant]}`, async (model, { house, workspaceId, assistantIds }) => {
    model.assistants[assistant]!.send({ type: verb });
    const { status } = await must(
      house.console(`/workspaces/${workspaceId}/assistants/${assistantIds[assistant]}/${verb}`, { method: 'POST' }),
      200,
    );
    equal(status, model.assistants[assistant]!.state);
  });

const widen = (max: number): Command =>
  command(`${max} turns at a time`, async (model, { house, workspaceId }) => {
    model.workspace.send({ type: 'configure', max });
    await must(
      house.console(`/workspaces/${workspaceId}`, { method: 'PATCH', body: { turns_in_flight_max: max } }),
      200,
    );
  });

/** A date long gone or far away, or none. */
const expire = (expiresAt: number | null): Command =>
  command(`key expires ${expiresAt}`, async (model, { house, workspaceId, keyId }) => {
    model.key.send({ type: 'configure', at: Date.now(), expiresAt });
    const { status } = await must(
      house.console(`/workspaces/${workspaceId}/keys/${keyId}`, { method: 'PATCH', body: { expires_at: expiresAt } }),
      200,
    );
    equal(status, model.key.state);
  });

const revoke: Command = command('revoke', async (model, { house, workspaceId, keyId }) => {
  model.key.send({ type: 'revoke', at: Date.now() });
  equal(
    (await must(house.console(`/workspaces/${workspaceId}/keys/${keyId}/revoke`, { method: 'POST' }), 200)).status,
    model.key.state,
  );
});

const session = fc.nat(sessionsOf.length - 1);
const assistant = fc.nat(kinds.length - 1);

/** Sequences; a revoked key, or an ended conversation, is rare. */
export const sequences = (length: number) =>
  fc.commands(
    [
      ...Array.from({ length: 4 }, () => session.map(say)),
      ...Array.from({ length: 2 }, () => fc.tuple(session, fc.boolean()).map((given) => abort(...given))),
      ...Array.from({ length: 2 }, () => session.map(look)),
      session.map(end),
      fc
        .tuple(
          assistant,
          fc.constantFrom(
            'publish' as const,
            'unpublish' as const,
            'disable' as const,
            'enable' as const,
            'enable' as const,
          ),
        )
        .map((given) => move(...given)),
      fc.integer({ min: 1, max: 3 }).map(widen),
      fc.constantFrom(1_000_000_000, 4_000_000_000, null, null).map(expire),
      fc.nat(9).map((number) => (number === 0 ? revoke : expire(null))),
    ],
    { maxCommands: length, size: 'max' },
  );
