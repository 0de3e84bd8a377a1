/**
 * Messages and functions as they are sent to a provider: with ids that it takes, with its own fields, and without what
 * is refused everywhere.
 */
import { createHash } from 'node:crypto';
import { isObject, type Json } from '../../base/json.ts';
import { indexAfter } from '../../base/text.ts';
import type { ForcedToolCall, ModelToolCall, ModelMessage, SaidMessage, ToolOffer } from '../model.ts';
import { shortDescriptionCharacters } from './attempts.ts';
import { repairs } from './repairs.ts';

export type ToolCalls = readonly [ModelToolCall, ...ModelToolCall[]];
export type ToolCallMessage = SaidMessage & { readonly calls: ToolCalls };

export const hasToolCalls = (message: ModelMessage): message is ToolCallMessage =>
  message.role !== 'tool' && message.calls !== undefined && message.calls.length > 0;

/** Ids that OpenAI, Anthropic and most others take. */
const takenId = /^[A-Za-z0-9_-]{1,40}$/;
/** Ids that all take. */
const strictId = /^[A-Za-z0-9]{9}$/;

/**
 * The messages with the ids of calls as their provider takes them: those that it gave itself, else ours, unless they
 * would be refused; each is in the request once. `strictly`: all ids have nine letters and digits.
 */
export function withWireIds(
  messages: readonly ModelMessage[],
  origin: string,
  strictly: boolean,
): readonly ModelMessage[] {
  if (!messages.some(hasToolCalls)) return messages;
  const used = new Set<string>();
  /** The ids on the wire of the round's calls, in order, by the ids that their results name. */
  let round = new Map<string, string[]>();
  return messages.map((message) => {
    if (message.role === 'tool')
      return { ...message, callId: round.get(message.callId)?.shift() ?? derivedId(message.callId, used) };
    if (!hasToolCalls(message)) return message;
    round = new Map();
    const calls = message.calls.map((call) => {
      const id = wireId(call, { origin, strictly, used });
      used.add(id);
      round.set(call.id, [...(round.get(call.id) ?? []), id]);
      return { ...call, id };
    });
    return { ...message, calls };
  });
}

function wireId(
  { id, opaque }: ModelToolCall,
  {
    origin,
    strictly,
    used,
  }: { readonly origin: string; readonly strictly: boolean; readonly used: ReadonlySet<string> },
): string {
  const own = opaque?.origin === origin ? opaque.id : undefined;
  if (own !== undefined && !used.has(own) && (!strictly || strictId.test(own))) return own;
  return takenId.test(id) && !strictly && !used.has(id) ? id : derivedId(id, used);
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** The same nine letters and digits for the same id in the same history. */
export function derivedId(id: string, used: ReadonlySet<string>): string {
  for (let tries = 0; ; tries++) {
    const candidate = Array.from(
      createHash('sha256').update(`${tries} ${id}`).digest().subarray(0, 9),
      (byte) => alphabet[byte % alphabet.length]!,
    ).join('');
    if (!used.has(candidate)) return candidate;
  }
}

/** The result of a call, which no provider wants empty. */
export const resultContent = (content: string): string =>
  content.trim() === '' ? 'The tool returned nothing.' : content;

/** The content of a message beside its calls. */
export function contentBesideToolCalls(content: string, shape: number): string | null {
  if (content.trim() !== '') return content;
  if (shape & repairs.wordContent) return 'I call a tool.';
  return shape & repairs.emptyContent ? '' : null;
}

/** The fields that a provider put on a call, for that provider. */
export const ownFields = ({ opaque }: ModelToolCall, origin: string, shape: number): Json | undefined =>
  opaque?.origin === origin && !(shape & repairs.noOpaque) ? opaque.call : undefined;

/** Returns the unknown fields of the round that ended in these tool calls. */
export const roundFields = ([first]: ToolCalls, origin: string, shape: number): Json | undefined =>
  first.opaque?.origin === origin && !(shape & repairs.noOpaque) ? first.opaque.round : undefined;

/** The repairs of messages that a history has a use for. */
export function openMessageRepairs(messages: readonly ModelMessage[], origin: string): number {
  let open = messages.some(({ role }) => role === 'assistant') ? repairs.thoughtStub : 0;
  for (const message of messages) {
    if (!hasToolCalls(message)) continue;
    open |= repairs.ids | repairs.signatureStub | repairs.detailsStub;
    if (message.content.trim() === '') open |= repairs.emptyContent | repairs.wordContent;
    if (message.kept !== undefined) open |= repairs.noThoughts;
    if (message.calls.some(({ opaque }) => opaque?.origin === origin && (opaque.call ?? opaque.round) !== undefined))
      open |= repairs.noOpaque;
  }
  return open;
}

/** Keywords that mean nothing to a model, and that some providers refuse. */
const notes: ReadonlySet<string> = new Set(['$schema', '$id', '$comment']);

/**
 * A function as it is offered: its schema is an object with properties, even if the tool's own schema leaves these out.
 */
export function wireFunction(
  { name, description, parameters }: ToolOffer,
  shape: number,
): { readonly name: string; readonly description?: string; readonly parameters: Json } {
  const { properties } = parameters;
  const schema = {
    ...Object.fromEntries(Object.entries(parameters).filter(([keyword]) => !notes.has(keyword))),
    type: 'object',
    properties: isObject(properties) ? properties : {},
  };
  if (description === null) return { name, parameters: schema };
  return {
    name,
    description:
      shape & repairs.shortDescriptions
        ? description.slice(0, indexAfter(description, shortDescriptionCharacters))
        : description,
    parameters: schema,
  };
}

/** A function that may not be called, and whose own schema is refused. */
export const emptyFunction = (name: string): ToolOffer => ({ name, description: null, parameters: { type: 'object' } });

/** The call that an answer must have, unless no function is left that it could be of. */
export function forcedAmong(
  offered: readonly ToolOffer[] | undefined,
  forced: ForcedToolCall | undefined,
): ForcedToolCall | undefined {
  if (offered === undefined || forced === undefined) return undefined;
  return (forced === 'any' ? offered.length > 0 : offered.some(({ name }) => name === forced.name))
    ? forced
    : undefined;
}
