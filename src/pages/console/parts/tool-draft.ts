/** The drafts in the forms of a tool, converted to and from the API's shape; and what its words mean. */
import type { Tool, ToolError } from '../types.ts';
import { durationText, durationSeconds } from './duration.ts';

export interface ToolDraft {
  readonly name: string;
  readonly url: string;
  readonly credential: string;
  readonly timeout: string;
  readonly callsPerMinute: string;
  readonly approval: string;
  readonly show: string;
  readonly repeatable: boolean;
  readonly disabled: boolean;
}

export const emptyTool: ToolDraft = {
  name: '',
  url: '',
  credential: '',
  timeout: durationText(20),
  callsPerMinute: '',
  approval: 'never',
  show: 'name',
  repeatable: false,
  disabled: false,
};

export const toolDraftOf = ({
  name,
  url,
  credential_id: credential,
  timeout_seconds: timeout,
  calls_per_minute: calls,
  approval,
  show,
  repeatable,
  disabled,
}: Tool): ToolDraft => ({
  ...{
    name,
    url: url ?? '',
    credential: credential ?? '',
    timeout: durationText(timeout),
    callsPerMinute: calls === null ? '' : String(calls),
    approval,
    show,
    repeatable,
    disabled,
  },
});

const orNull = (value: string): string | null => (value.trim() === '' ? null : value.trim());

export const toolBodyOf = ({
  name,
  url,
  credential,
  timeout,
  callsPerMinute,
  approval,
  show,
  repeatable,
  disabled,
}: ToolDraft) => ({
  ...{
    name,
    url: orNull(url),
    credential_id: orNull(credential),
    timeout_seconds: durationSeconds(timeout),
    calls_per_minute: orNull(callsPerMinute) === null ? null : Number(callsPerMinute),
  },
  ...{ approval, show, repeatable, disabled },
});

export interface FunctionDraft {
  readonly name: string;
  readonly description: string;
  /** JSON text of the parameters. */
  readonly parameters: string;
  readonly enabled: boolean;
  /** Empty: the tool's. */
  readonly approval: string;
  readonly show: string;
}

export const emptyFunction: FunctionDraft = {
  name: '',
  description: '',
  parameters: JSON.stringify({ type: 'object', properties: {}, required: [] }, null, 2),
  enabled: true,
  approval: '',
  show: '',
};

export const functionDraftsOf = ({ functions }: Tool): readonly FunctionDraft[] =>
  functions.map(({ name, description, parameters, enabled, approval, show }) => ({
    name,
    description: description ?? '',
    parameters: JSON.stringify(parameters, null, 2),
    enabled,
    approval: approval ?? '',
    show: show ?? '',
  }));

/**
 * Returns the functions as the API takes them, and only their settings for an MCP server; null if a schema is invalid.
 */
export function functionBodiesOf(kind: Tool['kind'], drafts: readonly FunctionDraft[]): readonly object[] | null {
  const bodies = drafts.map(({ name, description, parameters, enabled, approval, show }) => {
    const settings = { name, enabled, approval: orNull(approval), show: orNull(show) };
    const read = readObject(parameters);
    return kind === 'mcp'
      ? settings
      : 'value' in read && schemaFault(parameters) === null
        ? { ...settings, description: orNull(description), parameters: read.value }
        : null;
  });
  return bodies.some((body) => body === null) ? null : (bodies as readonly object[]);
}

/** Parses a text as a JSON object; returns the object, or the reason in words why it is not one. */
export function readObject(
  text: string,
): { readonly value: Readonly<Record<string, unknown>> } | { readonly fault: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return {
      fault: `It is no JSON${placeOf(text, String(error))}. Names and texts stand in double quotes, a comma stands between two members and none after the last.`,
    };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return { fault: 'It must be an object: { … }.' };
  return { value: value as Record<string, unknown> };
}

/** Returns the reason why a text is no schema of arguments; null if it may be one. The server checks the rest. */
export function schemaFault(text: string): string | null {
  const read = readObject(text);
  if ('fault' in read) return read.fault;
  if (read.value.type !== 'object') return 'Arguments are an object: a schema of them has "type": "object".';
  return new TextEncoder().encode(JSON.stringify(read.value)).length > 16 * 1024
    ? 'A schema has 16 KiB at most.'
    : null;
}

/** The line at which a browser's message says that the text stops being JSON. */
function placeOf(text: string, message: string): string {
  const [, position] = /position (\d+)/.exec(message) ?? [];
  const [, line] = /line (\d+)/.exec(message) ?? [];
  const at =
    line ??
    (position === undefined
      ? /end of/.test(message)
        ? text.split('\n').length
        : null
      : text.slice(0, Number(position)).split('\n').length);
  return at === null ? '' : ` from line ${at} on`;
}

/** Arguments to begin with: what the schema requires, empty. */
export function argumentsFor({ parameters }: Pick<Tool['functions'][number], 'parameters'>): string {
  const properties = (parameters.properties ?? {}) as Readonly<
    Record<
      string,
      { readonly type?: unknown; readonly default?: unknown; readonly enum?: readonly unknown[] } | undefined
    >
  >;
  const required = Array.isArray(parameters.required) ? (parameters.required as readonly string[]) : [];
  const blank: Readonly<Record<string, unknown>> = {
    string: '',
    number: 0,
    integer: 0,
    boolean: false,
    array: [],
    object: {},
  };
  const given = required.map((name) => [
    name,
    properties[name]?.default ?? properties[name]?.enum?.[0] ?? blank[String(properties[name]?.type)] ?? null,
  ]);
  return JSON.stringify(Object.fromEntries(given), null, 2);
}

export const kinds = {
  http: 'a program of yours: each call is one signed POST',
  mcp: 'an MCP server over Streamable HTTP',
  client: 'whoever calls the API runs it',
} as const;

export const approvals = [
  ['never', 'No'],
  ['always', 'Yes, each time'],
] as const;
export const shows = [
  ['none', 'Nothing'],
  ['name', 'Its name and state'],
  ['full', 'Arguments and output too'],
] as const;

/** The steps of reading the list of an MCP server. */
export const stepWords: Readonly<Record<NonNullable<Tool['refresh_error']>['step'], string>> = {
  connect: 'while connecting',
  probe: 'at the probe of the protocol (server/discover)',
  initialize: 'at the handshake (initialize)',
  list: 'while the list was read (tools/list)',
};

/** Reasons for a failed tool call, in words for people. */
export const errorWords: Readonly<Record<ToolError, string>> = {
  arguments: 'the arguments do not fit its schema; not sent',
  unknown_tool: 'there is no such function; not sent',
  limit: 'over a limit: calls a round, rounds, or calls a minute; not sent',
  timeout: 'no whole answer in time',
  unreachable: 'no connection, or one that ended without an answer',
  refused: 'the tool answered with an error, or the credential is gone',
  too_large: 'the answer is over 1 MiB',
  malformed: 'the answer is none that can be read',
};
