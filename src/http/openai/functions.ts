/** The functions that a caller of OpenAI's API brings, and the form of the answer that it wants (contract 14). */
import { Failure } from '../../base/errors.ts';
import { isNestedWithin, isObject } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import type { ChatCompletionBody, ResponseBody } from '../../wire/wire.ts';
import type { Services } from '../../conversation/services.ts';
import type { AnsweringAssistant } from '../../host/versions.ts';
import type { AnswerFormat, ForcedToolCall } from '../../providers/model.ts';
import type { OfferedFunction } from '../../providers/tool.ts';
import { listedSchema } from '../../providers/tool/listed-schema.ts';
import { functionName } from '../../providers/tool/schema.ts';

const wrong = (field: string): Failure => new Failure('invalid_field', { field });

/** The caller's wishes for the answer. */
export interface Wishes {
  /** The functions that are offered. */
  readonly tools: readonly OfferedFunction[];
  /** Absent where the model may answer without a call. */
  readonly forced?: ForcedToolCall;
  /** Absent for text. */
  readonly format?: AnswerFormat;
}

/** Reads the wishes of a chat completion. */
export function readWishes({ tools = [], tool_choice: choice, response_format: format }: ChatCompletionBody): Wishes {
  const given = tools.map(({ type, function: one }) => {
    if (type !== 'function' || one === undefined) throw wrong('tools');
    return one;
  });
  const functions = readFunctions(given, (index) => `tools.${index}.function.parameters`);
  const schema = isObject(format) ? format['json_schema'] : undefined;
  const isNested = isObject(format) && isObject(schema);
  return isNested
    ? wishesOf(functions, choice, { ...schema, type: format['type'] }, 'response_format.json_schema')
    : wishesOf(functions, choice, format, 'response_format');
}

/** Reads the wishes of a response. */
export function readResponseWishes({ tools = [], tool_choice: choice, text = {} }: ResponseBody): Wishes {
  const given = tools.map(({ type, name, description, parameters }) => {
    if (type !== 'function' || name === undefined) throw wrong('tools');
    return { name, description, parameters };
  });
  return wishesOf(
    readFunctions(given, (index) => `tools.${index}.parameters`),
    choice,
    text.format,
    'text.format',
  );
}

function wishesOf(functions: readonly OfferedFunction[], choice: unknown, format: unknown, path: string): Wishes {
  const forced = readChoice(choice, functions);
  const wanted = readFormat(format, path);
  return { tools: choice === 'none' ? [] : functions, ...(forced && { forced }), ...(wanted && { format: wanted }) };
}

interface GivenFunction {
  readonly name: string;
  readonly description?: string | undefined;
  readonly parameters?: unknown;
}

/**
 * The caller's functions, of the kind `client`. Throws 422 for one that cannot be offered, `tools` for a name that is
 * given twice.
 */
function readFunctions(given: readonly GivenFunction[], path: (index: number) => string): OfferedFunction[] {
  const functions = given.map(({ name, description = null, parameters }, index): OfferedFunction => {
    const schema =
      parameters === undefined || isEmpty(parameters) ? { type: 'object', properties: {} } : listedSchema(parameters);
    if (!functionName.test(name)) throw wrong('tools');
    if (schema === null) throw wrong(path(index));
    return {
      toolId: null,
      kind: 'client',
      approval: 'never',
      show: 'full',
      name,
      description: description && description.toWellFormed(),
      parameters: schema,
    };
  });
  if (new Set(functions.map(({ name }) => name)).size < functions.length) throw wrong('tools');
  return functions;
}

const isEmpty = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.keys(value).length === 0);

/** Reads a `tool_choice`; undefined where no call is forced. */
function readChoice(choice: unknown, functions: readonly OfferedFunction[]): ForcedToolCall | undefined {
  if (choice === undefined || choice === null || choice === 'auto' || choice === 'none') return undefined;
  if (choice === 'required' && functions.length > 0) return 'any';
  const name = isObject(choice) && choice['type'] === 'function' ? nameIn(choice) : undefined;
  if (!functions.some((one) => one.name === name)) throw wrong('tool_choice');
  return { name: name as string };
}

/** The two ways to ask write the name at two places. */
const nameIn = ({ name, function: named }: Readonly<Record<string, unknown>>): unknown =>
  isObject(named) ? named['name'] : name;

/** Reads a form of the answer; undefined for text. */
function readFormat(format: unknown, path: string): AnswerFormat | undefined {
  if (format === undefined || format === null) return undefined;
  if (!isObject(format)) throw wrong(path);
  const { type, name = 'answer', description, schema, strict } = format;
  if (type === 'text') return undefined;
  if (type === 'json_object') return { type };
  if (type !== 'json_schema') throw wrong(path);
  if (typeof name !== 'string' || !functionName.test(name)) throw wrong(`${path}.name`);
  if (
    !isObject(schema) ||
    !isNestedWithin(schema, schemaNestingMax) ||
    Buffer.byteLength(JSON.stringify(schema)) > limits.answerSchemaBytesMax
  )
    throw wrong(`${path}.schema`);
  return {
    type,
    name,
    schema,
    ...(typeof description === 'string' && { description: description.toWellFormed() }),
    ...(typeof strict === 'boolean' && { strict }),
  };
}

/** The deepest nesting of a schema: to write a deeper one down would need a stack as deep. */
const schemaNestingMax = 200;

/**
 * Throws 422 for options that the assistant cannot serve: `tools` for a name that one of its functions has; the field
 * of a forced call or of a response format that its model's provider does not support, or that conflicts with its
 * functions. `answering`: the assistant as it answers the request's session.
 */
export async function checkWishes(
  { tools, forced, format }: Wishes,
  answering: () => AnsweringAssistant | Promise<AnsweringAssistant>,
  formatField: 'response_format' | 'text.format',
  services: Services,
): Promise<void> {
  if (tools.length === 0 && forced === undefined && format === undefined) return;
  const assistant = await answering();
  const { toolIds = [], model } = assistant;
  const own = toolIds.length === 0 ? [] : await services.host.tools.functions(assistant);
  if (tools.some(({ name }) => own.some((one) => one.name === name))) throw wrong('tools');
  const obeys = services.models.get(model.provider)?.obeys;
  if (forced !== undefined && (own.length > 0 || obeys?.forcedCalls !== true))
    throw new Failure('not_supported', { field: 'tool_choice' });
  if (format !== undefined && (own.length > 0 || obeys?.formats.includes(format.type) !== true))
    throw new Failure('not_supported', { field: formatField });
}
