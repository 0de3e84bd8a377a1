/** The wire format of a provider, and the messages that it carries. */
import type { Json } from '../../base/json.ts';
import type { AnswerCut, ModelFailure, ModelUsage } from '../model.ts';

/** Receives the parts of an event or a whole answer. */
export interface AnswerSink {
  /** Number of events that reported a piece of the answer. */
  readonly texts: number;
  /** Reports that the answer has begun, even if it has no text yet. */
  begin(): void;
  /** A piece of the answer; an empty one is nothing. */
  text(piece: string): void;
  /** A piece of the reasoning from a separate field; an empty piece is ignored. */
  reasoning(piece: string): void;
  /** A part of a call of a tool. */
  call(part: ToolCallPart): void;
  /**
   * A part of a block of thoughts, which the provider wants back with its calls in the same turn: texts of one name are
   * joined.
   */
  keep(index: number, part: Readonly<Record<string, string>>): void;
  /** Fields of the round that are not known here, which the provider wants back with its calls. */
  keepFields(fields: Json): void;
  /** Token counts so far: the newest count, since some endpoints send them with every event. */
  usage(usage: ModelUsage): void;
  /**
   * Reports that the answer is complete; later data is ignored. `cut`: reason for which the answer is incomplete, null
   * if it is complete.
   */
  complete(cut: AnswerCut | null): void;
  /** The answer is a refusal: its calls are not made. */
  refuse(): void;
  /** Reports that the answer has ended. */
  finish(): void;
  /** The answer cannot be used: the rest of it is ignored. `said` is its error, if it is one. */
  fail(failure: ModelFailure, said?: string): void;
}

/** A part of a call of a tool, as streams bring them: a call begins with its name, and its arguments come in pieces. */
export interface ToolCallPart {
  /** Index among the tool calls; null if the endpoint sends no index. */
  readonly index: number | null;
  /** Null where this part has none. */
  readonly id: string | null;
  readonly name: string;
  readonly arguments: string;
  /** Whether it certainly begins a call. */
  readonly begins: boolean;
  /** Unknown fields of the tool call; null if it has only known ones. */
  readonly fields: Json | null;
}

export interface Dialect {
  /** Whether an event of this name, with this beginning of a JSON object, is one of the dialect's own that was cut. */
  owns(name: string, text: string): boolean;
  /** The part of what is kept for the turn that is stored with the calls (see `JoinedToolCalls`). */
  storedOf(kept: readonly Json[]): Json | null;
  /** One event of the stream, which is no error. */
  event(answer: AnswerSink, event: Json): void;
  /** A whole answer, from an endpoint that does not stream; no error either. */
  whole(answer: AnswerSink, body: Json): void;
}

/** Errors come as a member of the object, or as the object itself. */
export const isError = (json: Json): boolean =>
  Boolean(json['error']) || json['object'] === 'error' || json['type'] === 'error';

/** No reason, also as the text that a program prints for none. */
const noReasons: ReadonlySet<string> = new Set(['', 'null', 'none', 'nil', 'undefined']);

/**
 * Values by which endpoints mark an incomplete answer: of OpenAI, Anthropic and Gemini, of gateways to them, and of
 * servers for local models.
 */
const cuts: readonly (readonly [cut: AnswerCut, reasons: RegExp])[] = [
  [
    'length',
    /^(?:length|max_?tokens|max_?(?:new|output|completion)_?tokens|model_length|model_context_window_exceeded|context_length_exceeded|incomplete)$/i,
  ],
  [
    'content_filter',
    /^(?:content_?filter(?:ed)?(?:\W.*)?|function_call_filter(?:\W.*)?|malformed_function_call|safety|recitation|blocklist|prohibited_content|spii|image_safety|sensitive|guardrail_intervened)$/i,
  ],
  ['refusal', /^refus(?:al|ed)$/i],
];

/** Completes the answer, whether its reason is the endpoint's own or one of the API's; the reason `error` fails it. */
export function noteFinish(answer: AnswerSink, reason: unknown): void {
  if (typeof reason !== 'string' || noReasons.has(reason.trim().toLowerCase())) return;
  if (reason === 'error') return answer.fail('provider_error');
  answer.complete(cuts.find(([, reasons]) => reasons.test(reason.trim()))?.[0] ?? null);
}
