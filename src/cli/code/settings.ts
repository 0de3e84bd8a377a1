/**
 * The settings of assistants and tools as their files have them: by name, without ids, secrets and what takes effect at
 * once (contract 20). Settings that a file leaves out have their defaults.
 */
import { limits } from '../../base/limits.ts';
import { createHash } from 'node:crypto';
import type { ConsoleAssistantView, TestView, ToolView } from '../../wire/wire.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface ModelChoice {
  readonly provider: string;
  readonly name: string;
  readonly credential: string | null;
}

export interface AssistantSettings {
  readonly model: ModelChoice & {
    readonly history_tokens_max: number;
    readonly temperature: number | null;
    readonly output_tokens_max: number | null;
    readonly reasoning: string;
    readonly fallbacks: readonly ModelChoice[];
  };
  readonly prompt: string | null;
  readonly greeting: string | null;
  readonly visitor_fields: readonly Json[];
  readonly voice: (Json & { readonly credential: string | null }) | null;
  readonly max_call_seconds: number;
  readonly tools: readonly string[];
  readonly tool_rounds_max: number;
}

export interface ToolSettings {
  readonly kind: string;
  readonly url: string | null;
  readonly credential: string | null;
  readonly timeout_seconds: number;
  readonly repeatable: boolean;
  readonly approval: string;
  readonly show: string;
  readonly calls_per_minute: number | null;
  /** An MCP server defines its functions: their entries have no description and parameters. */
  readonly functions: readonly Json[];
}

export interface TestSettings {
  readonly assistant: string;
  readonly title: string;
  readonly visitor: Json;
  readonly metadata: Json;
  readonly steps: readonly Json[];
  readonly tool_results: Readonly<Record<string, readonly Json[]>>;
  readonly repeat: number;
}

/** The name of a tool or a credential by its id; null for one that is gone. */
export type NameOf = (id: string) => string | null;

const named = (id: string | null, nameOf: NameOf): string | null => (id === null ? null : nameOf(id));

/** The versioned settings of an assistant, with names in place of ids. */
export function settingsOfAssistant(
  view: ConsoleAssistantView,
  names: { readonly tool: NameOf; readonly credential: NameOf },
): AssistantSettings {
  const { credential_id: modelCredential, system_prompt: prompt, fallbacks, ...model } = view.model;
  const choice = ({ provider, name, credential_id }: (typeof fallbacks)[number]): ModelChoice => ({
    provider,
    name,
    credential: named(credential_id, names.credential),
  });
  return {
    model: {
      ...choice({ provider: model.provider, name: model.name, credential_id: modelCredential }),
      history_tokens_max: model.history_tokens_max,
      temperature: model.temperature,
      output_tokens_max: model.output_tokens_max,
      reasoning: model.reasoning,
      fallbacks: fallbacks.map(choice),
    },
    prompt,
    greeting: view.greeting,
    visitor_fields: view.visitor_fields.map((field) => ({ ...field })),
    voice: view.voice && {
      provider: view.voice.provider,
      name: view.voice.name,
      transcription_name: view.voice.transcription_name,
      voice: view.voice.voice,
      credential: named(view.voice.credential_id, names.credential),
    },
    max_call_seconds: view.max_call_seconds,
    tools: view.tool_ids.flatMap((id) => names.tool(id) ?? []),
    tool_rounds_max: view.tool_rounds_max,
  };
}

export const settingsOfTool = (view: ToolView, credential: NameOf): ToolSettings => ({
  kind: view.kind,
  url: view.url,
  credential: named(view.credential_id, credential),
  timeout_seconds: view.timeout_seconds,
  repeatable: view.repeatable,
  approval: view.approval,
  show: view.show,
  calls_per_minute: view.calls_per_minute,
  functions: view.functions.map(({ name, description, parameters, enabled, approval, show }) => ({
    name,
    ...(view.kind !== 'mcp' && { description, parameters }),
    enabled,
    approval,
    show,
  })),
});

export const settingsOfTest = (view: TestView, assistant: string): TestSettings => ({
  assistant,
  title: view.name,
  visitor: view.visitor,
  metadata: view.metadata,
  steps: view.steps,
  tool_results: view.tool_results,
  repeat: view.repeat,
});

/** The name of a test in plans: tests of one assistant have different ones. */
export const testName = (assistant: unknown, title: unknown): string => `${String(assistant)}: ${String(title)}`;

/** A digest of a test, which the API does not have; the order of names within a map does not matter. */
export const digestOfTest = (settings: TestSettings): string =>
  createHash('sha256')
    .update(JSON.stringify(ordered(settings)))
    .digest('base64url')
    .slice(0, 27);

function ordered(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(ordered);
  if (typeof value !== 'object' || value === null) return value;
  return Object.entries(value)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, item]) => [name, ordered(item)]);
}

const choiceDefaults = { credential: null };
const modelDefaults = {
  ...choiceDefaults,
  history_tokens_max: limits.historyTokensMax,
  temperature: null,
  output_tokens_max: null,
  reasoning: 'hidden',
  fallbacks: [],
};
const assistantDefaults = {
  greeting: null,
  visitor_fields: [],
  voice: null,
  max_call_seconds: limits.maxCallSecondsDefault,
  tools: [],
  tool_rounds_max: limits.toolRoundsMax,
};
const fieldDefaults = { type: 'text', required: false };
const voiceDefaults = { name: null, transcription_name: null, voice: null, credential: null };
const toolDefaults = {
  url: null,
  credential: null,
  timeout_seconds: limits.toolTimeoutSeconds,
  repeatable: false,
  approval: 'never',
  show: 'name',
  calls_per_minute: null,
  functions: [],
};
const testDefaults = { visitor: {}, metadata: {}, tool_results: {}, repeat: 1 };
const stepDefaults = { expect: {} };
const emptyObject = { type: 'object', properties: {} };
const functionDefaults = { enabled: true, approval: null, show: null };
const definitionDefaults = { description: null, parameters: emptyObject, ...functionDefaults };

/** The fields that differ from their defaults. */
const short = (value: Json, defaults: Json): Json =>
  Object.fromEntries(
    Object.entries(value).filter(
      ([name, item]) => !(name in defaults) || JSON.stringify(item) !== JSON.stringify(defaults[name]),
    ),
  );

/**
 * A checked value with the defaults of fields that are absent, or null where null is no value of theirs: the API's own
 * schemas have shown that it then has its type.
 */
const full = <Whole extends object = Json>(value: object, defaults: Json): Whole =>
  ({
    ...defaults,
    ...Object.fromEntries(
      Object.entries(value).filter(([name, item]) => item !== null || defaults[name] === undefined),
    ),
  }) as object as Whole;

/** The content of an assistant's file, but for its name and digest; the prompt is in a Markdown file. */
export function contentOfAssistant(settings: AssistantSettings, promptFile: string): Json {
  const { model, prompt, visitor_fields, voice, ...rest } = settings;
  const { provider, name, credential, fallbacks, ...others } = model;
  const content = {
    model: {
      ...{ provider, name },
      ...short({ credential }, modelDefaults),
      ...(prompt !== null && { prompt_file: promptFile }),
      ...short({ ...others, fallbacks: fallbacks.map((one) => short({ ...one }, choiceDefaults)) }, modelDefaults),
    },
    greeting: rest.greeting,
    visitor_fields: visitor_fields.map((field) => short(field, { ...fieldDefaults, label: field['name'] })),
    voice: voice && short(voice, voiceDefaults),
    max_call_seconds: rest.max_call_seconds,
    tools: rest.tools,
    tool_rounds_max: rest.tool_rounds_max,
  };
  return short(content, assistantDefaults);
}

export function contentOfTool(settings: ToolSettings): Json {
  const { kind, functions, ...rest } = settings;
  const defaults = kind === 'mcp' ? { approval: null, show: null } : definitionDefaults;
  return { kind, ...short({ ...rest, functions: functions.map((each) => short(each, defaults)) }, toolDefaults) };
}

export function contentOfTest({ assistant, title, steps, ...rest }: TestSettings): Json {
  const { visitor, metadata, tool_results, repeat } = short({ ...rest }, testDefaults);
  const content = {
    ...{ assistant, name: title, visitor, metadata },
    steps: steps.map((step) => short(step, stepDefaults)),
    ...{ tool_results, repeat },
  };
  return Object.fromEntries(Object.entries(content).filter(([, value]) => value !== undefined));
}

/** The settings that a file's content describes; it was checked before. */
export function assistantOfContent(content: Json, prompt: string | null): AssistantSettings {
  const { model: given, ...whole } = full<AssistantSettings>(content, assistantDefaults);
  const { prompt_file: _, ...model } = full<AssistantSettings['model'] & { prompt_file?: string }>(given ?? {}, {
    provider: 'scripted',
    name: 'scripted',
    ...modelDefaults,
  });
  return {
    model: { ...model, fallbacks: model.fallbacks.map((one) => full(one, choiceDefaults)) },
    prompt,
    // The API stores no empty greeting.
    greeting: whole.greeting || null,
    visitor_fields: whole.visitor_fields.map((field) => full(field, { label: field['name'], ...fieldDefaults })),
    voice: whole.voice && full(whole.voice, voiceDefaults),
    max_call_seconds: whole.max_call_seconds,
    tools: whole.tools,
    tool_rounds_max: whole.tool_rounds_max,
  };
}

export function toolOfContent(content: Json): ToolSettings {
  const whole = full<ToolSettings>(content, toolDefaults);
  const defaults = whole.kind === 'mcp' ? functionDefaults : definitionDefaults;
  return {
    kind: whole.kind,
    url: whole.url,
    credential: whole.credential,
    timeout_seconds: whole.timeout_seconds,
    repeatable: whole.repeatable,
    approval: whole.approval,
    show: whole.show,
    calls_per_minute: whole.calls_per_minute,
    functions: whole.functions.map((each) => full(each, defaults)),
  };
}

export function testOfContent(content: Json): TestSettings {
  const { assistant, name, ...whole } = full<Omit<TestSettings, 'title'> & { name: string }>(content, testDefaults);
  const resultOf = ({ status = 'completed', output = '' }: Json): Json => ({
    status,
    output: typeof output === 'string' ? output : JSON.stringify(output),
  });
  return {
    assistant,
    title: name,
    visitor: whole.visitor,
    metadata: whole.metadata,
    steps: whole.steps.map((step) => full(step, stepDefaults)),
    tool_results: Object.fromEntries(
      Object.entries(whole.tool_results).map(([name, results]) => [name, results.map(resultOf)]),
    ),
    repeat: whole.repeat,
  };
}

/** The id of a tool or a credential by its name. */
export type IdOf = (name: string) => string;

/** The fields of a PATCH or a POST that give an assistant these settings. */
export function bodyOfAssistant(
  settings: AssistantSettings,
  ids: { readonly tool: IdOf; readonly credential: IdOf },
): Record<string, unknown> & { readonly model: Record<string, unknown> } {
  const idOf = (name: string | null): string | null => (name === null ? null : ids.credential(name));
  const choice = <Choice extends { readonly credential: string | null }>({ credential, ...one }: Choice) => ({
    ...one,
    credential_id: idOf(credential),
  });
  const { model, prompt, voice, tools, ...rest } = settings;
  return {
    ...rest,
    model: { ...choice(model), system_prompt: prompt, fallbacks: model.fallbacks.map(choice) },
    voice: voice && choice(voice),
    tool_ids: tools.map(ids.tool),
  };
}

export const bodyOfTool = ({ credential, ...rest }: ToolSettings, credentialId: IdOf): Record<string, unknown> => ({
  ...rest,
  credential_id: credential === null ? null : credentialId(credential),
});

export const bodyOfTest = ({ assistant: _, title, ...rest }: TestSettings): Record<string, unknown> => ({
  name: title,
  ...rest,
});
