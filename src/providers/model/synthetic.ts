/** A model for load and fault tests, whose name contains its settings: `tokens=200,delay_ms=20,fail_at=50`. */
import type { Clock } from '../../base/clock.ts';
import { estimateTokens } from '../model.ts';
import type { Model, ModelStream, ModelFailure, ModelRequest, ModelSink } from '../model.ts';
import {
  failure,
  failures,
  switchValue,
  meaningsOf,
  parseName,
  wholeUpTo,
  word,
  type NameSettings,
} from '../synthetic-name.ts';
import { refuseRequest } from './refused.ts';

export interface SyntheticSettings {
  readonly tokens: number;
  readonly delayMs: number;
  readonly firstMs: number;
  readonly failAt: number | null;
  readonly failAs: ModelFailure;
  readonly hangAt: number | null;
  readonly text: string;
  readonly unicode: boolean;
  readonly usage: boolean;
  readonly call: string | null;
  readonly calls: number;
  readonly callRounds: number;
  readonly callBad: boolean;
}

const defaults: SyntheticSettings = {
  tokens: 20,
  delayMs: 0,
  firstMs: 0,
  failAt: null,
  failAs: 'provider_error',
  hangAt: null,
  text: 'word',
  unicode: false,
  usage: true,
  call: null,
  calls: 1,
  callRounds: 1,
  callBad: false,
};

const tokensMax = 1_000_000;
const delayMax = 600_000;
const callsMax = 100;

const keys: NameSettings<SyntheticSettings> = {
  tokens: { field: 'tokens', read: wholeUpTo(tokensMax), meaning: 'pieces of the answer (20)' },
  delay_ms: { field: 'delayMs', read: wholeUpTo(delayMax), meaning: 'milliseconds between two pieces (0: in bursts)' },
  first_ms: { field: 'firstMs', read: wholeUpTo(delayMax), meaning: 'milliseconds before the first piece (0)' },
  fail_at: { field: 'failAt', read: wholeUpTo(tokensMax), meaning: 'fails after that many pieces; 0 before the first' },
  fail_as: { field: 'failAs', read: failure, meaning: `how it fails: ${failures.join(', ')} (provider_error)` },
  hang_at: { field: 'hangAt', read: wholeUpTo(tokensMax), meaning: 'falls silent for good after that many pieces' },
  text: { field: 'text', read: word, meaning: 'the text of a piece, a space is added (word)' },
  unicode: {
    field: 'unicode',
    read: switchValue,
    meaning: '1: pieces beyond ASCII instead of `text`, with surrogate pairs split between two',
  },
  usage: { field: 'usage', read: switchValue, meaning: '0: gives no token counts (1)' },
  call: { field: 'call', read: word, meaning: 'calls the tool of this name before its text' },
  calls: { field: 'calls', read: wholeUpTo(callsMax), meaning: 'that many calls side by side (1)' },
  call_rounds: { field: 'callRounds', read: wholeUpTo(callsMax), meaning: 'rounds of calls before its text (1)' },
  call_bad: { field: 'callBad', read: switchValue, meaning: '1: the arguments of its calls are no JSON' },
};

/** Every key with its meaning and, in brackets, its default. */
export const syntheticKeys = (): { key: string; meaning: string }[] => meaningsOf(keys);

/** Reads a name strictly: the settings, or the first key that is unknown, repeated or has no such value. */
export const parseSynthetic = (name: string): SyntheticSettings | string => parseName(keys, defaults, name);

export function syntheticModel(clock: Clock): Model {
  return {
    provider: 'synthetic',
    needsCredential: false,
    accepts: (name) => typeof parseSynthetic(name) !== 'string',
    start(request, sink) {
      const settings = parseSynthetic(request.name);
      return typeof settings === 'string'
        ? refuseRequest(sink, 'provider_error')
        : isToCall(settings, request)
          ? callTools(clock, settings, request, sink)
          : play(clock, settings, request, sink);
    },
  };
}

/** Whether this round calls: tools are called whether they are offered or not. */
function isToCall({ call, calls, callRounds }: SyntheticSettings, { messages }: ModelRequest): boolean {
  if (call === null || calls === 0) return false;
  const since = messages.slice(messages.findLastIndex(({ role }) => role === 'user') + 1);
  return since.filter((message) => message.role === 'assistant' && message.calls !== undefined).length < callRounds;
}

function callTools(
  clock: Clock,
  { call, calls, callBad, firstMs, usage }: SyntheticSettings,
  request: ModelRequest,
  sink: ModelSink,
): ModelStream {
  const name = call!;
  const given = callBad
    ? '{"bad"'
    : JSON.stringify(exampleOf(request.tools?.find((tool) => tool.name === name)?.parameters));
  const timer = clock.after(firstMs, () => {
    for (let index = 0; index < calls; index++) sink.call?.({ name, arguments: given });
    if (usage) sink.usage({ inputTokens: inputTokensOf(request), outputTokens: calls * estimateTokens(name + given) });
    sink.end();
  });
  return { cancel: () => timer.cancel() };
}

/** Arguments that fit a plain schema: its required properties. */
function exampleOf(schema: unknown): unknown {
  if (typeof schema !== 'object' || schema === null) return {};
  const {
    type,
    enum: choices,
    default: usual,
    properties = {},
    required = [],
    items,
  } = schema as {
    type?: string;
    enum?: unknown[];
    default?: unknown;
    properties?: Record<string, unknown>;
    required?: string[];
    items?: unknown;
  };
  if (usual !== undefined) return usual;
  if (choices !== undefined) return choices[0];
  if (type === 'string') return 'word';
  if (type === 'number' || type === 'integer') return 1;
  if (type === 'boolean') return true;
  if (type === 'array') return [exampleOf(items)];
  return Object.fromEntries(required.map((name) => [name, exampleOf(properties[name])]));
}

/** Number of pieces sent before the process serves its other work. */
const burst = 128;

function play(clock: Clock, settings: SyntheticSettings, request: ModelRequest, sink: ModelSink): ModelStream {
  const { tokens, delayMs, firstMs, failAt, failAs, hangAt } = settings;
  const stopAt = Math.min(tokens, failAt ?? tokens, hangAt ?? tokens);
  const startedAt = clock.monotonic();
  let given = 0;
  let cancelled = false;

  const finish = (): void => {
    if (failAt === given) sink.failed(failAs);
    else if (hangAt !== given) {
      if (settings.usage) sink.usage({ inputTokens: inputTokensOf(request), outputTokens: tokens });
      sink.end();
    }
  };
  // Due times count from the start, so the pace does not depend on the resolution of the clock.
  const dueIn = (): number => firstMs + given * delayMs - (clock.monotonic() - startedAt);
  const step = (): void => {
    for (let i = 0; i < burst && given < stopAt && dueIn() <= 0; i++) {
      sink.text(pieceOf(settings, given++));
      if (cancelled) return;
    }
    if (given === stopAt) return finish();
    timer = clock.after(Math.max(0, dueIn()), step);
  };
  let timer = clock.after(firstMs, step);
  return {
    cancel() {
      cancelled = true;
      timer.cancel();
    },
  };
}

const unicodePieces = [
  'héllo ',
  '日本語 ',
  '\ud83d',
  '\ude00 ',
  'שלום ',
  'e\u0301 ',
  '\ud83d\udc69\u200d',
  '\ud83d\ude80 ',
];

function pieceOf({ text, unicode, tokens }: SyntheticSettings, index: number): string {
  if (!unicode) return `${text} `;
  const piece = unicodePieces[index % unicodePieces.length]!;
  // An answer that comes to its end ends in whole characters.
  return index === tokens - 1 && piece === '\ud83d' ? '\ud83d\ude00 ' : piece;
}

const inputTokensOf = ({ systemPrompt, messages }: ModelRequest): number =>
  estimateTokens(systemPrompt ?? '') + messages.reduce((sum, { content }) => sum + estimateTokens(content), 0);
