/** Names of functions as they are sent to a provider that wants a letter first: Kimi, and Gemini but for `_`. */
import type { ModelMessage, ModelRequest, ToolOffer } from '../model.ts';
import type { Shaped } from './attempts.ts';
import { repairs } from './repairs.ts';
import { derivedId, hasToolCalls } from './wire.ts';

const letterFirst = /^[A-Za-z]/;
const prefix = 'fn_';
const charactersMax = 64;

/** Returns the name with a letter first. A name that would be too long ends in a suffix that keeps it unique. */
export function lettered(name: string): string {
  if (letterFirst.test(name)) return name;
  const whole = prefix + name;
  return whole.length <= charactersMax ? whole : whole.slice(0, charactersMax - 9) + derivedId(name, none);
}

const none: ReadonlySet<string> = new Set();

/** Our names by those that a model may call: either form, since it may know the other from its instructions. */
export const namesByOfferedName = (offered: readonly ToolOffer[]): ReadonlyMap<string, string> =>
  new Map([
    ...offered.map(({ name }) => [lettered(name), name] as const),
    ...offered.map(({ name }) => [name, name] as const),
  ]);

const namesOf = (messages: readonly ModelMessage[]): string[] =>
  messages.flatMap((message) => (hasToolCalls(message) ? message.calls.map(({ name }) => name) : []));

/** Returns the repair of function names; null if every name of the request begins with a letter. */
export const openNameRepairs = ({ tools = [], closedTools = [], messages }: ModelRequest): number =>
  [...tools.map(({ name }) => name), ...closedTools.map(({ name }) => name), ...namesOf(messages)].every((name) =>
    letterFirst.test(name),
  )
    ? 0
    : repairs.names;

/** The request and what is sent of it under the names of its shape. */
export function underWireNames<T extends Shaped>(request: ModelRequest, shaped: T): readonly [ModelRequest, T] {
  if (!(shaped.shape & repairs.names)) return [request, shaped];
  const { tools, closedTools, forced } = request;
  const named = {
    ...request,
    tools: tools?.map(renamed),
    closedTools: closedTools?.map(renamed),
    forced: forced === undefined || forced === 'any' ? forced : renamed(forced),
  };
  const messages = shaped.messages.map((message) =>
    hasToolCalls(message) ? { ...message, calls: message.calls.map(renamed) } : message,
  );
  return [named, { ...shaped, messages, refused: new Set([...shaped.refused].map(lettered)) }];
}

const renamed = <T extends { readonly name: string }>(one: T): T => ({ ...one, name: lettered(one.name) });
