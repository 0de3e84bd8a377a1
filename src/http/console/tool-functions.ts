/** The functions of a tool, as a request gives them (contract 13). */
import { Failure } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { PatchToolBody } from '../../base/wire.ts';
import type { Tool, ToolFunction } from '../../store/store.ts';

type Given = NonNullable<PatchToolBody['functions']>;

export const functionName = /^[A-Za-z0-9_-]{1,64}$/;

/** The functions after a request: of an MCP server only the settings of those that its list has. */
export function checkedFunctions(tool: Tool, given: Given): readonly ToolFunction[] {
  const names = given.map(({ name }) => name);
  if (!names.every((name) => functionName.test(name)) || new Set(names).size < names.length) throw wrong('functions');
  if (tool.kind !== 'mcp') return given.map(functionOf);
  if (!names.every((name) => tool.functions.some((known) => known.name === name))) throw wrong('functions');
  return tool.functions.map((known) => {
    const settings = given.find(({ name }) => name === known.name);
    return settings === undefined ? known : { ...known, ...settingsOf(settings, known) };
  });
}

function functionOf(given: Given[number], index: number): ToolFunction {
  const { name, description = null, parameters = emptyObject } = given;
  if (!isSchema(parameters)) throw wrong(`functions[${index}].parameters`);
  return { name, description, parameters, ...settingsOf(given, { enabled: true, approval: null, show: null }) };
}

const emptyObject = { type: 'object', properties: {} };

const settingsOf = ({ enabled, approval, show }: Given[number], before: Pick<ToolFunction, 'enabled' | 'approval' | 'show'>): Pick<ToolFunction, 'enabled' | 'approval' | 'show'> => ({
  enabled: enabled ?? before.enabled,
  approval: (approval === undefined ? before.approval : approval) as ToolFunction['approval'],
  show: (show === undefined ? before.show : show) as ToolFunction['show'],
});

/** Whether a value is a JSON Schema of an object, not too large, that refers to itself alone. */
export function isSchema(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const { type } = value as { type?: unknown };
  return type === 'object' && Buffer.byteLength(JSON.stringify(value)) <= limits.toolSchemaBytesMax && isSound(value, 0);
}

const depthMax = 64;
/** The keywords whose values are schemas by names of the author's own. */
const maps: ReadonlySet<string> = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** The keywords whose values are values, and not schemas. */
const values: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples', 'required']);
const types: ReadonlySet<unknown> = new Set(['object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);

/** Whether the known keywords of a schema are as they must be, in it and within it. */
function isSound(schema: unknown, depth: number): boolean {
  if (typeof schema === 'boolean') return true;
  if (typeof schema !== 'object' || schema === null || depth > depthMax) return false;
  if (Array.isArray(schema)) return schema.every((each) => isSound(each, depth + 1));
  return Object.entries(schema).every(([keyword, value]) => {
    if (keyword === '$ref' || keyword === '$dynamicRef') return typeof value === 'string' && value.startsWith('#');
    if (keyword === 'type') return Array.isArray(value) ? value.length > 0 && value.every((each) => types.has(each)) : types.has(value);
    if (keyword === 'pattern') return typeof value === 'string' && isPattern(value);
    if (keyword === 'required') return Array.isArray(value) && value.every((each) => typeof each === 'string');
    if (keyword === 'enum') return Array.isArray(value);
    if (values.has(keyword) || typeof value !== 'object' || value === null) return !maps.has(keyword);
    if (maps.has(keyword)) return !Array.isArray(value) && Object.values(value).every((each) => isSound(each, depth + 1));
    return isSound(value, depth + 1);
  });
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text, 'u');
    return true;
  } catch {
    return false;
  }
}

const wrong = (field: string): Failure => new Failure('invalid_field', { field });
