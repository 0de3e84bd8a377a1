/** Plays one conversation of a run (contract 21): a session of the channel `test`, whose turns are any session's. */
import { AssistantModel } from '../../assistant/model.ts';
import { greetingFor } from '../../assistant/texts.ts';
import { nobody } from '../../actors/cause.ts';
import { secondsOf } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import type { AnsweringAssistant } from '../../host/versions.ts';
import type { ModelSink } from '../../providers/model.ts';
import { StoreUnavailable, type Message, type Session } from '../../store/store.ts';
import { outputWithCalls } from '../../turn/pending-tool-calls.ts';
import { LoggedReports } from '../../turn/reports.ts';
import type { Services } from '../services.ts';
import { scriptedServices, type NextResult } from './scripted-tools.ts';
import { judgementOf, type Judgement, type PlayedTurn } from './verdicts.ts';

export interface PlayedExchange {
  readonly message: string;
  readonly turn: PlayedTurn;
  /** The model's provider failed. */
  readonly isError: boolean;
}

export interface Conversation {
  readonly assistant: AnsweringAssistant;
  readonly visitor: Session['visitor'];
  readonly metadata: Session['metadata'];
  readonly messages: readonly string[];
  readonly results: NextResult;
}

/** The run that a conversation belongs to. */
export interface PlayingRun {
  /** Throws if the run is not played here any more; called before each step. */
  check(): void;
  /** The key of the run: a session is not created once the run is removed. */
  readonly key: string;
  /** Stores that the session belongs to the run, before it is created. */
  opened(sessionId: string): Promise<void>;
  /** Counts the tokens of a turn, or of a judgement. */
  used(usage: { readonly inputTokens: number; readonly outputTokens: number }): void;
  /** Ends a turn that begins, if the run is cancelled meanwhile; returns a function that forgets the turn. */
  holds(stop: () => void): () => void;
}

/** Yields each exchange once its turn has ended. A failed provider ends the conversation. */
export async function* play(
  { assistant, visitor, metadata, messages, results }: Conversation,
  run: PlayingRun,
  services: Services,
): AsyncGenerator<PlayedExchange> {
  const { host } = services;
  const { workspaceId, id: assistantId, maxCallSeconds } = assistant;
  run.check();
  const id = host.sessions.newId();
  await run.opened(id);
  const wanted = {
    ...({ workspaceId, assistantId, channel: 'test', visitor, metadata, maxCallSeconds, run: run.key } as const),
    greeting: (made: Session) => greetingFor(assistant, made),
    remember: null,
  };
  const { session } = await host.sessions.create(wanted, null, id);
  for (const message of messages) {
    run.check();
    const exchange = await playTurn(assistant, session, message, results, run, services);
    yield exchange;
    if (exchange.isError) break;
  }
  const actor = await host.sessions.of(workspaceId, session.id);
  if (actor !== null) await host.sessions.end(actor, nobody);
}

async function playTurn(
  assistant: AnsweringAssistant,
  { id: sessionId, workspaceId }: Session,
  message: string,
  results: NextResult,
  run: PlayingRun,
  services: Services,
): Promise<PlayedExchange> {
  const { host, store } = services;
  const actor = await host.sessions.of(workspaceId, sessionId);
  if (actor === null) throw new StoreUnavailable('The session of a test is gone.');
  const started = await host.turns.begin(actor, {
    message,
    assistantRefusal: null,
    takesSlot: false,
    remember: null,
    historyTokensMax: assistant.model.historyTokensMax,
    model: new AssistantModel(assistant, actor.record, scriptedServices(services, results), {}),
    reports: new LoggedReports('test', sessionId, services),
  });
  if (started.kind !== 'started') throw new Error('A turn of a test is remembered.');
  const { runner } = started;
  const forget = run.holds(() => void runner.stop('aborted'));
  try {
    const begun = await runner.begun;
    await runner.over;
    run.check();
    if (begun.kind === 'unavailable') throw new StoreUnavailable('The store did not take a turn of a test.');
    const place = { workspaceId, sessionId, turnId: runner.turnId };
    const stored = begun.kind === 'begun' ? await outputWithCalls(store, place, 0) : null;
    if (stored === null) return { message, turn: failedTurn, isError: begun.kind === 'withdrawn' };
    const { turn, text, calls = [] } = stored;
    run.used(turn);
    return {
      message,
      turn: {
        reply: text ?? '',
        status: turn.status,
        stopReason: turn.stopReason === 'content_filter' ? 'end' : turn.stopReason,
        calls: calls.map(({ name, arguments: input, status, error }) => ({ name, arguments: input, status, error })),
      },
      isError: turn.errorCode === 'assistant_unavailable',
    };
  } finally {
    forget();
  }
}

const failedTurn: PlayedTurn = { reply: '', status: 'failed', stopReason: 'error', calls: [] };

const judgePrompt =
  'You judge a reply of an assistant by one criterion. Answer with the single word "yes" if the reply meets the criterion, and with "no" if it does not.';

/** Asks the assistant's own model whether a reply meets a criterion; null if its provider failed. */
export async function judge(
  assistant: AnsweringAssistant,
  criterion: string,
  { message, turn }: PlayedExchange,
  run: PlayingRun,
  services: Services,
): Promise<Judgement | null> {
  run.check();
  const { version: _, hasVariables: __, ...settings } = assistant;
  const model = { ...settings.model, systemPrompt: judgePrompt, temperature: null };
  const judging = new AssistantModel(
    { ...settings, model, toolIds: [] },
    { channel: 'test', visitor: {}, metadata: {} } as Session,
    scriptedServices(services, () => null),
    {},
  );
  const content = `Criterion: ${criterion}\n\nMessage to the assistant:\n${message}\n\nReply of the assistant:\n${turn.reply}`;
  const asked = { role: 'user', content, status: 'completed' } as Message;
  for (let left = judging.fallbacks; ; left--) {
    const answer = await answerOf(judging, [asked], run, services);
    judging.noteEnd(answer === null ? 'provider_error' : null);
    if (answer !== null) return judgementOf(answer);
    if (left === 0) return null;
    judging.next();
  }
}

/** The text that the model answers with; null if it failed. */
async function answerOf(
  model: AssistantModel,
  conversation: readonly Message[],
  run: PlayingRun,
  { clock }: Services,
): Promise<string | null> {
  const prepared = await model.prepare(conversation, secondsOf(clock.now()));
  if (prepared === null) return null;
  let text = '';
  let used = { inputTokens: 0, outputTokens: 0 };
  let forget = (): void => {};
  const isAnswered = await new Promise<boolean>((resolve) => {
    const sink: ModelSink = {
      text: (piece) => void (text.length < limits.testTextCharactersMax && (text += piece)),
      usage: (counted) => void (used = counted),
      end: () => resolve(true),
      failed: () => resolve(false),
      noteLeftOut() {},
      noteOffered() {},
    };
    const stream = prepared.start(sink, [], false);
    forget = run.holds(() => (stream.cancel(), resolve(false)));
  });
  forget();
  run.check();
  run.used(used);
  return isAnswered ? text : null;
}
