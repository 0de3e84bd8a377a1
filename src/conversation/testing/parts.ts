/** Plays the parts of a run (contract 21): a test with its repetitions, or a stored conversation again. */
import { isDeepStrictEqual } from 'node:util';
import { codePoints, indexAfter } from '../../base/text.ts';
import { limits } from '../../base/limits.ts';
import type { AnsweringAssistant } from '../../host/versions.ts';
import { ownIdOf } from '../../store/records/tests.ts';
import type {
  AssistantTest,
  PlayedCall,
  PlayedStep,
  ReplayOutcome,
  Session,
  TestOutcome,
  Verdict,
} from '../../store/store.ts';
import type { Services } from '../services.ts';
import { exchangesOf } from './from-session.ts';
import { judge, play, type PlayedExchange, type PlayingRun } from './player.ts';
import { resultsByArguments, resultsInOrder } from './scripted-tools.ts';
import { scriptDigest } from './tests.ts';
import { failuresOf, verdictOf, verdictOfRepeat, type Judgement } from './verdicts.ts';

/** Characters of the texts in one result, and in all results of a run. */
const resultCharactersMax = 64_000;
const runCharactersMax = 4_000_000;
/** Characters of a text in a result. */
const textCharacters = { least: 100, most: 4000 } as const;

/** Shortens a text of a result; `texts`: the number of texts in it, `parts`: the number of results of its run. */
export function shorten(texts: number, parts: number): (text: string) => string {
  const all = Math.min(resultCharactersMax, runCharactersMax / parts);
  const most = Math.max(textCharacters.least, Math.min(textCharacters.most, Math.floor(all / texts)));
  return (text) => (text.length <= most ? text : `${text.slice(0, indexAfter(text, most))}…`);
}

type Repeat = TestOutcome['repeats'][number];

/** Plays one repetition of a test. */
export async function playRepeat(
  test: AssistantTest,
  assistant: AnsweringAssistant,
  run: PlayingRun,
  services: Services,
): Promise<Repeat> {
  const { visitor, metadata, steps: script } = test;
  const begunMs = services.clock.monotonic();
  const steps: PlayedStep[] = [];
  let isError = false;
  const messages = script.map(({ message }) => message);
  const conversation = { assistant, visitor, metadata, messages, results: resultsInOrder(test.toolResults) };
  for await (const exchange of play(conversation, run, services)) {
    const { expect } = script[steps.length]!;
    const { turn, message } = exchange;
    let judgement: Judgement | null = null;
    if (expect.judge !== undefined && !exchange.isError) {
      judgement = await judge(assistant, expect.judge, exchange, run, services);
      isError ||= judgement === null;
    }
    isError ||= exchange.isError;
    const failures = exchange.isError ? [] : failuresOf(expect, turn, judgement);
    const { reply, stopReason, calls } = turn;
    steps.push({ message, reply, stopReason, calls, failures, judged: judgement !== null });
  }
  const seconds = Math.round(services.clock.monotonic() - begunMs) / 1000;
  return { verdict: verdictOfRepeat(steps, isError), seconds, steps };
}

/** The result of a test over its repetitions. */
export function testOutcome(test: AssistantTest, repeats: readonly Repeat[], parts: number): TestOutcome {
  const short = shorten(2 * repeats.reduce((sum, { steps }) => sum + steps.length, 0), parts);
  const verdicts: readonly Verdict[] = repeats.map(({ verdict }) => verdict);
  return {
    kind: 'test',
    testId: ownIdOf(test),
    testDigest: scriptDigest(test),
    name: test.name,
    verdict: verdictOf(verdicts),
    repeats: repeats.map(({ steps, ...repeat }) => ({
      ...repeat,
      steps: steps.map((step) => ({
        ...step,
        message: short(step.message),
        reply: short(step.reply),
        failures: step.failures.map(({ expect, saw }) => ({ expect, saw: short(saw) })),
      })),
    })),
  };
}

/** Sends the messages of a stored conversation again, and compares what happens. */
export async function playAgain(
  session: Session,
  assistant: AnsweringAssistant,
  parts: number,
  run: PlayingRun,
  services: Services,
): Promise<ReplayOutcome> {
  const stored = await exchangesOf(session, limits.testStepsMax, services.store);
  const recorded = stored.flatMap(({ reply }) => reply?.toolCalls ?? []);
  const { visitor, metadata } = session;
  const messages = stored.map(({ message }) => message);
  const conversation = { assistant, visitor, metadata, messages, results: resultsByArguments(recorded) };
  const played: PlayedExchange[] = [];
  for await (const exchange of play(conversation, run, services)) played.push(exchange);
  const short = shorten(3 * Math.max(1, stored.length), parts);
  const replies = stored.map(({ reply }, index) => ({
    stored: reply?.content ?? '',
    reply: played[index]?.turn.reply ?? '',
  }));
  // A message without a reply was for a person: no turn of it could end the same way.
  const stops = stored.flatMap(({ reply }, index) =>
    reply === null ? [] : [{ stored: reply.stopReason, played: played[index]?.turn.stopReason ?? null }],
  );
  const characters = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + codePoints(text), 0);
  return {
    kind: 'replay',
    sessionId: session.id,
    messages: replies.map((texts, index) => ({
      message: short(messages[index]!),
      stored: short(texts.stored),
      reply: short(texts.reply),
    })),
    calls: sameOrNot(
      recorded.map(comparable),
      played.flatMap(({ turn }) => turn.calls.map(comparable)),
    ),
    ended: stops.every((one) => one.stored === one.played) ? 'same' : 'different',
    characters: {
      stored: characters(replies.map((texts) => texts.stored)),
      reply: characters(replies.map((texts) => texts.reply)),
    },
    ...(played.some(({ isError }) => isError) && { failed: true as const }),
  };
}

const comparable = ({ name, arguments: input }: Pick<PlayedCall, 'name' | 'arguments'>) => ({ name, input });

const sameOrNot = (one: unknown, other: unknown): 'same' | 'different' =>
  isDeepStrictEqual(one, other) ? 'same' : 'different';
