/** Checks the versions after a run: those that are stored, their counts, and what models and clients were sent (A1). */
import type { Store } from '../../src/store/store.ts';
import { understood } from './checker.ts';
import type { History } from './history.ts';
import type { Oracle, State, TurnState } from './oracle.ts';
import type { ReleaseState } from './releases-oracle.ts';
import { functionNames } from './tool.ts';
import { grouped } from './world.ts';

export async function checkReleases(
  oracle: Oracle,
  history: History,
  store: Store,
  workspaceId: string,
): Promise<string[]> {
  const states = [oracle.state, ...oracle.forgotten];
  const wrong = [...checkModels(oracle, states, history), ...checkSessions(states, history)];
  for (const [id, state] of oracle.state.assistants) wrong.push(...(await checkStored(id, state, store, workspaceId)));
  return wrong;
}

async function checkStored(id: string, state: ReleaseState, store: Store, workspaceId: string): Promise<string[]> {
  const { current, candidate, versions } = state;
  const stored = (await store.catalog.read('assistant', workspaceId, id))?.record.release;
  const counts = await store.catalog.releaseCounts(workspaceId, id);
  const found = [
    stored?.current ?? 1,
    stored?.candidate?.version,
    stored?.candidate?.isHalted,
    counts.candidate.turns,
    counts.candidate.failedTurns,
  ].join(' ');
  const due = [
    current,
    candidate?.version,
    candidate?.isHalted,
    candidate?.turns ?? counts.candidate.turns,
    candidate?.failedTurns ?? counts.candidate.failedTurns,
  ].join(' ');
  const wrong = found === due ? [] : [`versions: ${id} is stored as ${found}, and ${due} was due`];
  for (const number of new Set([...versions.keys(), ...counts.versions.keys()])) {
    const [counted, own] = [counts.versions.get(number), versions.get(number)];
    for (const field of ['sessions', 'turns', 'failedTurns'] as const)
      if ((counted?.[field] ?? 0) !== (own?.[field] ?? 0))
        wrong.push(
          `versions: ${counted?.[field]} ${field} on ${number} of ${id} are counted, and there are ${own?.[field]}`,
        );
  }
  return wrong;
}

/** A client learns the version that its session was created on. */
function checkSessions(states: readonly State[], { asked }: History): string[] {
  return asked.flatMap(({ method, path, status, json }) => {
    if (method !== 'POST' || path !== '/sessions' || status !== 201) return [];
    const due = states.flatMap(({ sessions, places }) => {
      const place = places.get(json.id);
      // Turns may have moved it since.
      return sessions.has(json.id) && place !== undefined ? [place.created] : [];
    });
    return due.length === 0 || due.includes(json.assistant_version)
      ? []
      : [`versions: ${json.id} is answered with ${json.assistant_version}, and it was created on ${due.join(' or ')}`];
  });
}

/** Each turn is answered by its version: by the prompt and the functions of no other, and of no draft. */
function checkModels(oracle: Oracle, states: readonly State[], { said }: History): string[] {
  const turns = states.flatMap((state) =>
    [...state.turns.values(), ...state.withdrawn.values()].map((turn) => ({ state, turn })),
  );
  const asked = grouped(turns, ({ turn }) => turn.prompt);
  return said.flatMap((one) => {
    if (one.systemPrompt === undefined) return [];
    const { prompt } = understood(oracle, one);
    const offers = (asked.get(prompt) ?? []).flatMap(({ state, turn }) => offersOf(states, state, turn));
    const isDue = offers.some(
      ({ systemPrompt, functions }) =>
        systemPrompt === one.systemPrompt &&
        (one.functions ?? []).every((name) => name === 'ask_for_person' || functions.includes(name)),
    );
    return offers.length === 0 || isDue
      ? []
      : [
          `versions: ${prompt} was asked with ${JSON.stringify([one.systemPrompt, one.functions])}, and ${JSON.stringify(offers)} was due`,
        ];
  });
}

/** Prompts and functions that the version of a turn may give its model. After a failover its number may be another version's. */
function offersOf(states: readonly State[], { sessions }: State, { turn }: TurnState) {
  const session = sessions.get(turn.sessionId)?.session;
  if (session === undefined || turn.assistantVersion === undefined) return [];
  return states.flatMap(({ assistants }) => {
    const state = assistants.get(session.assistantId);
    const stored = state?.versions.get(turn.assistantVersion!)?.stored;
    if (state === undefined) return [];
    // Version 1 of an assistant that has not changed since before versions existed is the assistant.
    if (stored == null)
      return turn.assistantVersion === 1 && state.record.release === undefined
        ? [{ systemPrompt: state.record.model.systemPrompt, functions: functionNames }]
        : [];
    const functions = stored.tools.flatMap((tool) => tool.functions.map(({ name }) => name));
    return [{ systemPrompt: stored.settings.model.systemPrompt, functions }];
  });
}
