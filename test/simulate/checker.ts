/** Checks the history of a run: the store's steps, its rows in the end, and the answers to clients. */
import { isDeepStrictEqual } from 'node:util';
import { kinds } from '../../machines/all.ts';
import { releaseMachine } from '../../machines/release.ts';
import { folded } from '../../src/actors/history.ts';
import { limits } from '../../src/base/limits.ts';
import type { HistoryKind, Message, Snapshot, Store, Turn, Versioned } from '../../src/store/store.ts';
import { codePoints } from '../../src/base/text.ts';
import type { ModelMessage } from '../../src/providers/model.ts';
import { cutReply, waitingReply } from '../../src/providers/model/history.ts';
import { pastOf } from '../../src/turn/event-log.ts';
import { Answers } from './answers.ts';
import { epochMs } from './clock.ts';
import { checkCalls } from './calls.ts';
import { checkEvents } from './events.ts';
import { answeringOf, type History, type Said } from './history.ts';
import { Oracle, type State } from './oracle.ts';
import { checkReleases } from './releases.ts';
import { grouped, type World } from './world.ts';

/**
 * Returns the violations, one line each with the rule first; none if all is well. `store` is the store after the run.
 */
export async function check({ history, mode, seeds, scheduler, ...world }: World, store: Store): Promise<string[]> {
  const oracle = new Oracle(mode === 'embedded');
  const { rows } = mode === 'embedded' ? world : world.server;
  oracle.plant(seeds.assistants);
  for (const entry of history.entries) oracle.hear(entry);
  const wrong = [
    ...history.wrong,
    ...oracle.wrong,
    ...(await checkLeft(oracle, store, seeds.workspaceId)),
    ...(await checkHistories(oracle, store, seeds)),
    ...checkTexts(oracle, history),
    ...(await checkReleases(oracle, history, store, seeds.workspaceId)),
    ...checkCharges(oracle, history),
    ...checkAnswered(oracle, mode),
    ...(await checkCalls(oracle, history, store, seeds.workspaceId)),
    ...(await checkEvents(oracle, history, rows, { mode, seeds }, epochMs + scheduler.now)),
  ];
  const answers = new Answers(oracle, history, mode);
  for (const asked of history.asked) answers.check(asked);
  return [...new Set([...wrong, ...answers.wrong])];
}

/** Checks that the store holds the steps that it acknowledged, and nothing is in flight. */
async function checkLeft({ state }: Oracle, store: Store, workspaceId: string): Promise<string[]> {
  const wrong: string[] = [];
  const slots = await store.turns.inFlight(workspaceId);
  if (slots !== 0) wrong.push(`slots: ${slots} are taken when all is over`);
  for (const [id, known] of state.sessions) {
    const found = await store.sessions.read(workspaceId, id);
    if (
      found === null ||
      found.version !== known.version ||
      found.record.machine.state !== known.session.machine.state
    ) {
      wrong.push(
        `presence: ${id} is ${found?.record.machine.state} in version ${found?.version}, not ${known.session.machine.state} in ${known.version}`,
      );
      continue;
    }
    const said: string[] = [];
    for (let after: string | null = null, more = true; more; more = after !== null) {
      const page = await store.sessions.messages(workspaceId, id, { limit: 100, after, order: 'asc' });
      said.push(...page.items.map(({ content }) => content));
      after = page.next;
    }
    const due = [
      ...(known.greeting === null ? [] : [known.greeting]),
      ...known.rows.flatMap((row) => {
        if (typeof row !== 'string') return [row.content];
        const { turn, prompt, text } = state.turns.get(row)!;
        return turn.unasked ? [text] : [prompt, text];
      }),
    ];
    if (JSON.stringify(said) !== JSON.stringify(due))
      wrong.push(`presence: ${id} says ${JSON.stringify(said)}, not ${JSON.stringify(due)}`);
    if (
      found.record.messageCount !== known.session.messageCount ||
      found.record.messageCount !== due.length + known.gaps
    ) {
      wrong.push(
        `presence: ${id} counts ${found.record.messageCount} messages of ${due.length} with gaps of ${known.gaps}`,
      );
    }
  }
  for (const [id, { turn, text, finished }] of state.turns) {
    const place = { workspaceId, sessionId: turn.sessionId, turnId: id };
    const found = await store.turns.read(workspaceId, turn.sessionId, id);
    if (found?.status !== turn.status) wrong.push(`presence: ${id} is ${found?.status}, not ${turn.status}`);
    const end = codePoints(text);
    const read = [
      await store.turns.output(place),
      (await store.turns.outputAfter(place, end))?.text,
      (await store.turns.outputAfter(place, end + 1))?.text,
    ];
    if (!isDeepStrictEqual(read, [text, '', null]))
      wrong.push(`presence: the output of ${id} is read as ${JSON.stringify(read)}, and it is ${JSON.stringify(text)}`);
    if (finished === null) wrong.push(`liveness: ${id} was never sealed`);
  }
  return [...wrong, ...(await checkUsage(state, store, workspaceId))];
}

const releaseStates: ReadonlySet<string> = new Set(Object.keys(releaseMachine.config.states!));

/** Checks that each history has every step, and its fold through the machine equals the stored state (P23). */
async function checkHistories(
  { state }: Oracle,
  store: Store,
  { workspaceId, keys, assistantIds, hasReleases }: World['seeds'],
): Promise<string[]> {
  const wrong: string[] = [];
  const check = async (
    kind: HistoryKind,
    id: string,
    found: Versioned<{ readonly machine: Snapshot }> | null,
  ): Promise<void> => {
    if (found === null) return;
    const moves = await store.history.read(kind, workspaceId, id);
    const seqs = moves.map(({ seq }) => seq).join(' ');
    const attended = state.sessions.get(id)?.attended ?? new Set();
    const due = Array.from({ length: found.version }, (_, index) => index + 1).filter((seq) => !attended.has(seq));
    // A change of an assistant that moves neither of its machines is no step.
    const isComplete = seqs === due.join(' ') || (kind === 'assistant' && hasReleases);
    if (!isComplete) return void wrong.push(`history: ${id} is in version ${found.version} by the steps ${seqs}`);
    const { machine } = found.record;
    const fold = [...folded(kinds[kind], moves)].at(-1);
    if (fold !== null && !isDeepStrictEqual(fold, machine))
      wrong.push(
        `history: ${id} is stored as ${JSON.stringify(machine)}, and its steps lead to ${JSON.stringify(fold)}`,
      );
    // The steps of an assistant's release are in its history as well.
    const own = moves.filter(({ from }) => kind !== 'assistant' || !releaseStates.has(from ?? ''));
    const broken = own.findIndex(({ from }, index) => from !== (own[index - 1]?.to ?? null));
    if (broken >= 0) wrong.push(`history: step ${own[broken]!.seq} of ${id} comes from ${own[broken]!.from}`);
  };
  for (const id of state.sessions.keys()) {
    await check('session', id, await store.sessions.read(workspaceId, id));
    wrong.push(...(await checkPasts(store, workspaceId, id)));
  }
  for (const { id } of keys) await check('key', id, await store.catalog.read('key', workspaceId, id));
  for (const id of assistantIds) await check('assistant', id, await store.catalog.read('assistant', workspaceId, id));
  return wrong;
}

/**
 * Checks that the fold of each turn's past through its machine leads to the stored end of the turn (P23). Returns the
 * violations.
 */
export async function checkPasts(store: Store, workspaceId: string, sessionId: string): Promise<string[]> {
  const wrong: string[] = [];
  const moves = await store.history.read('session', workspaceId, sessionId);
  for (const move of moves) {
    if (move.turn === undefined || move.turn.events.length === limits.turnEventsKept) continue;
    const { turnId } = move.turn;
    // An end whose answer was lost is withdrawn by a later step, if the chat was answered 503.
    const again = moves.some(
      ({ seq, event }) =>
        seq > move.seq && event.type === 'finished' && (event as { turnId?: string }).turnId === turnId,
    );
    if (again) continue;
    const due = (await store.turns.read(workspaceId, sessionId, turnId))?.status ?? 'withdrawn';
    const steps = pastOf(move.turn, move);
    const end = steps.at(-1)?.to;
    if (end !== due)
      wrong.push(`history: ${turnId} is ${due}, and its steps lead to ${end}: ${JSON.stringify(move.turn.events)}`);
    if (steps.some(({ outcomes }) => outcomes[0]?.type === 'unchanged'))
      wrong.push(`history: an event that changed nothing is a step of ${turnId}`);
  }
  return wrong;
}

/** Checks that the usage counted equals the sessions and turns there were. */
async function checkUsage({ sessions, turns }: State, store: Store, workspaceId: string): Promise<string[]> {
  const finished = [...turns.values()].filter((one) => one.finished !== null).map(({ turn }) => turn);
  const sum = (count: (turn: Turn) => number): number => finished.reduce((all, turn) => all + count(turn), 0);
  const messages = [...sessions.values()].flatMap(({ rows }) => rows.filter((row) => typeof row !== 'string'));
  const atDesk = (counts: (message: Message) => boolean): number => messages.filter(counts).length;
  const due = {
    sessions: sessions.size,
    turns: finished.length,
    failedTurns: sum(({ status }) => (status === 'failed' ? 1 : 0)),
    inputTokens: sum(({ inputTokens }) => inputTokens),
    outputTokens: sum(({ outputTokens }) => outputTokens),
    toolCalls: sum(({ calls }) => calls?.sent ?? 0),
    personMessages: atDesk(({ role }) => role === 'person'),
    handovers: atDesk(({ attendance }) => attendance?.state === 'person'),
  };
  const start = Math.floor(epochMs / 1000) - 86_400;
  const buckets = await store.usage.read(workspaceId, {
    assistantIds: null,
    start,
    end: start + 2 * 86_400,
    bucketSeconds: 86_400,
  });
  return Object.entries(due).flatMap(([name, count]) => {
    const counted = buckets.reduce((all, bucket) => all + bucket[name as keyof typeof due], 0);
    return counted === count ? [] : [`usage: ${counted} ${name} are counted, not ${count}`];
  });
}

/**
 * A call of the model: its turn's prompt, the messages before that turn, and all that the turn would have said up to
 * then. A turn that answers tool calls continues after their results, or after the messages for a person that followed
 * them.
 */
export function understood(
  oracle: Oracle,
  { messages, text }: Pick<Said, 'messages' | 'text'>,
): { prompt: string; before: readonly ModelMessage[]; text: string } {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const at = messages.findLastIndex((message) => answeredIn(oracle, message).length > 0);
  const answered = at < 0 ? [] : answeredIn(oracle, messages[at]!);
  const next = at < 0 ? 0 : messages.findIndex(({ role }, index) => index > at && role !== 'tool');
  const from = Math.max(asked + 1, next < 0 ? messages.length : next);
  const isAnswer = at > asked || isBefore(oracle, answered, messages.slice(0, from));
  const rounds = messages
    .slice(from)
    .filter(({ role }) => role === 'assistant')
    .map(({ content }) => content);
  return {
    prompt: isAnswer ? answeringOf(answered) : (messages[asked]?.content ?? ''),
    before: messages.slice(0, isAnswer ? from : asked),
    text: rounds.join('') + text,
  };
}

/** The calls of a message that a turn has answered. */
const answeredIn = ({ calls }: Oracle, message: ModelMessage): string[] =>
  message.role === 'tool' ? [] : (message.calls ?? []).map(({ id }) => id).filter((id) => calls.answering.has(id));

/** Whether these are all the messages before a turn that answers these calls. */
function isBefore(oracle: Oracle, answered: readonly string[], messages: readonly ModelMessage[]): boolean {
  const prompt = answeringOf(answered);
  const sent = joined(messages);
  return answered
    .flatMap((id) => oracle.calls.answering.get(id)!)
    .flatMap((turnId) => oracle.versions(turnId))
    .some((turn) => turn.prompt === prompt && isDeepStrictEqual(turn.before, sent));
}

/**
 * Checks that every text is a prefix of one model call's output for that prompt, and that models are sent the real
 * history.
 */
function checkTexts(oracle: Oracle, history: History): string[] {
  const { state, forgotten } = oracle;
  const wrong: string[] = [];
  const turns = [...forgotten, state].flatMap(({ turns, withdrawn }) => [...turns.values(), ...withdrawn.values()]);
  const said = history.said.map((one) => understood(oracle, one));
  const saidTo = grouped(said, ({ prompt }) => prompt);
  const askedIn = grouped(turns, ({ prompt }) => prompt);
  for (const { prompt, text, turn } of turns) {
    const calls = saidTo.get(prompt) ?? [];
    if (text !== '' && !calls.some((call) => call.text.toWellFormed().startsWith(text)))
      wrong.push(`one writer: ${turn.id} says ${JSON.stringify(text)}, which nobody said to ${prompt}`);
    if (turn.status === 'completed' && !calls.some((call) => call.text === text))
      wrong.push(`presence: ${turn.id} is completed with ${codePoints(text)} characters`);
  }
  for (const { prompt, before: messages } of said) {
    const told = JSON.stringify(joined(messages));
    if (!askedIn.get(prompt)?.some(({ before }) => JSON.stringify(before) === told))
      wrong.push(`one order: the model was told ${told} before ${prompt}`);
  }
  return wrong;
}

/** Texts of a history, with the rounds of a reply joined, without the sentence that replaces a cut reply. */
function joined(messages: readonly ModelMessage[]): string[] {
  const texts: string[] = [];
  let last = '';
  for (const { role, content } of messages.filter(
    (message, index) => message.role !== 'tool' && !isBridge(messages, index),
  )) {
    if (role === 'assistant' && last === 'assistant') texts.push(texts.pop()! + content);
    else texts.push(content);
    last = role;
  }
  return texts.filter((text) => text.trim() !== '');
}

const isBridge = (messages: readonly ModelMessage[], index: number): boolean =>
  [cutReply, waitingReply].includes(messages[index]!.content) && messages[index - 1]?.role === 'tool';

/** Each message of a visitor is answered by one turn, or accepted for a person once: never both (D2). */
function checkAnswered({ state }: Oracle, mode: World['mode']): string[] {
  if (mode === 'failover') return [];
  const answers = new Map<string, string[]>();
  const note = (text: string, how: string): unknown => answers.set(text, [...(answers.get(text) ?? []), how]);
  for (const { rows } of state.sessions.values()) {
    for (const row of rows) {
      if (typeof row !== 'string') {
        if (row.role === 'user') note(row.content, row.id);
      } else if (!state.turns.get(row)!.turn.unasked) note(state.turns.get(row)!.prompt, row);
    }
  }
  return [...answers].flatMap(([text, how]) => {
    const accepted = how.filter((id) => id.startsWith('msg_'));
    return accepted.length > 0 && how.length > 1 ? [`desk: "${text}" is answered by ${how.join(' and ')}`] : [];
  });
}

/** No request is charged twice, with any answers lost on the way. */
function checkCharges({ takes }: Oracle, { asked }: History): string[] {
  const charged = grouped(takes, ({ keyId }) => keyId);
  const arrived = grouped(
    asked.filter((one) => one.arrived),
    ({ keyId }) => keyId ?? '',
  );
  return [...charged].flatMap(([keyId, { length }]) => {
    const requests = arrived.get(keyId)?.length ?? 0;
    return length > requests ? [`limits: ${keyId} was charged ${length} times for ${requests} requests`] : [];
  });
}
