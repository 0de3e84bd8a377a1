/** A turn as a response (contract 14), with every field that Open Responses of 2026-04-24 requires. */
import { rowOfCode } from '../../base/errors.ts';
import { bareId } from '../../base/ids.ts';
import { jsonText } from '../../base/json.ts';
import { logText } from '../../conversation/protocol-adapter.ts';
import { responseIdOf, type Echoed } from '../../conversation/responses.ts';
import type { FoundTurn } from '../../conversation/turns.ts';
import type { OfferedFunction } from '../../providers/tool.ts';
import type { Wishes } from './functions.ts';
import type { PendingCall } from '../../store/store.ts';
import { cutOf, waitingCalls, type TurnEnd } from '../../turn/log.ts';

export interface ResponseOf {
  readonly turn: FoundTurn;
  readonly sessionId: string;
  /** The model's name in the request. */
  readonly model: string;
  readonly previous: string | null;
  readonly stored: boolean;
  readonly echoed: Echoed;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly completedAt: number | null;
  readonly instructions: string | null;
  readonly outputTokensMax: number | null;
  readonly temperature: number | null;
  readonly wishes: Wishes;
  readonly offersTools: boolean;
}

function statusOf(end: TurnEnd | null): string {
  if (end === null) return 'in_progress';
  if (end.type === 'aborted') return 'cancelled';
  return cutOf(end) === null ? end.type : 'incomplete';
}

/** Items know no failure. */
export const itemStatusOf = (end: TurnEnd | null): string =>
  end === null ? 'in_progress' : end.type === 'completed' && cutOf(end) === null ? 'completed' : 'incomplete';

/** The event that ends a stream. */
export const endOf = (end: TurnEnd): string =>
  end.type === 'aborted' || cutOf(end) !== null ? 'incomplete' : end.type;

const incompleteReasons = { length: 'max_output_tokens', content_filter: 'content_filter' } as const;

function incompleteView(end: TurnEnd | null): object | null {
  const cut = cutOf(end);
  return cut && { reason: incompleteReasons[cut] };
}

export const textPart = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });

/**
 * The ids of items have the turn's id in them: a client that refers to one leads to its response (see `references.ts`).
 */
export const messageItemId = ({ turnId }: Pick<FoundTurn, 'turnId'>): string => `msg_${bareId(turnId)}`;

export const messageItem = (turn: FoundTurn, status: string, content: readonly object[]) => ({
  type: 'message',
  id: messageItemId(turn),
  status,
  role: 'assistant',
  content,
});

/** `index`: of the call among those that wait. */
export const callItem = (
  { turnId }: FoundTurn,
  { id, name, arguments: given }: PendingCall,
  index: number,
  status: 'in_progress' | 'completed',
) => ({
  type: 'function_call',
  id: `fc_${bareId(turnId)}_${index}`,
  call_id: id,
  name,
  arguments: status === 'completed' ? jsonText(given ?? {}) : '',
  status,
});

/** The id of the response that an item is of, from the item's id; null if no response has such an item. */
export function responseOfItem(id: string): string | null {
  const [, ofMessage, ofCall] = /^(?:msg_([0-9a-z]{26})|fc_([0-9a-z]{26})_\d{1,3})$/.exec(id) ?? [];
  const bare = ofMessage ?? ofCall;
  return bare === undefined ? null : responseIdOf(`turn_${bare}`);
}

export function outputOf(turn: FoundTurn, end: TurnEnd | null): object[] {
  const text = logText(turn.log);
  const said = text === '' ? [] : [messageItem(turn, itemStatusOf(end), [textPart(text)])];
  return [...said, ...waitingCalls(end).map((call, index) => callItem(turn, call, index, 'completed'))];
}

function usageView(end: TurnEnd | null): object | null {
  if (end?.type !== 'completed') return null;
  const { inputTokens, outputTokens, cachedInputTokens = 0 } = end;
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: inputTokens + outputTokens,
  };
}

function errorView(end: TurnEnd | null): object | null {
  if (end?.type !== 'failed') return null;
  const { code, message } = rowOfCode(end.errorCode);
  return { code, message };
}

const functionView = ({ name, description, parameters }: OfferedFunction) => ({
  type: 'function',
  name,
  description,
  parameters,
  strict: false,
});

function choiceView({ forced }: Wishes, offersTools: boolean): unknown {
  if (forced === undefined) return offersTools ? 'auto' : 'none';
  return forced === 'any' ? 'required' : { type: 'function', name: forced.name };
}

/** The response as it is, or as it was before its first output. */
export function responseView(response: ResponseOf, end: TurnEnd | null, output: readonly object[]) {
  const {
    turn,
    sessionId,
    model,
    previous,
    stored,
    echoed,
    createdAt,
    completedAt,
    instructions,
    outputTokensMax,
    temperature,
    wishes,
    offersTools,
  } = response;
  return {
    id: responseIdOf(turn.turnId),
    object: 'response',
    created_at: createdAt,
    completed_at: statusOf(end) === 'completed' ? completedAt : null,
    status: statusOf(end),
    incomplete_details: incompleteView(end),
    model,
    previous_response_id: previous,
    instructions,
    output,
    error: errorView(end),
    tools: wishes.tools.map(functionView),
    tool_choice: choiceView(wishes, offersTools),
    truncation: 'disabled',
    parallel_tool_calls: true,
    text: { format: wishes.format ?? { type: 'text' } },
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    temperature: temperature ?? 1,
    reasoning: null,
    user: echoed.user ?? null,
    usage: usageView(end),
    max_output_tokens: outputTokensMax,
    max_tool_calls: null,
    store: stored,
    background: false,
    service_tier: 'default',
    metadata: echoed.metadata ?? {},
    safety_identifier: echoed.safety_identifier ?? null,
    prompt_cache_key: echoed.prompt_cache_key ?? null,
    conversation: { id: sessionId },
  };
}
