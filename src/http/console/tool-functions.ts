/** The functions of a tool, as a request gives them (contract 13). */
import { isDeepStrictEqual } from 'node:util';
import { Failure } from '../../base/errors.ts';
import type { PatchToolBody } from '../../wire/wire.ts';
import { functionName, isSchema } from '../../providers/tool/schema.ts';
import type { Tool, ToolFunction } from '../../store/store.ts';

type Given = NonNullable<PatchToolBody['functions']>;

/** The functions after a request: of an MCP server only the settings of those that its list has. */
export function checkedFunctions(tool: Tool, given: Given): readonly ToolFunction[] {
  const names = given.map(({ name }) => name);
  if (!names.every((name) => functionName.test(name)) || new Set(names).size < names.length) throw wrong('functions');
  if (tool.kind !== 'mcp') return given.map((each, index) => stillRefused(functionOf(each, index), tool));
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

/** A definition that a provider refuses is refused as long as it stays what it is. */
function stillRefused(after: ToolFunction, { functions }: Tool): ToolFunction {
  const before = functions.find(({ name }) => name === after.name);
  const isSame =
    before?.quarantined !== undefined &&
    isDeepStrictEqual([before.description, before.parameters], [after.description, after.parameters]);
  return isSame ? { ...after, quarantined: before.quarantined } : after;
}

const emptyObject = { type: 'object', properties: {} };

const settingsOf = (
  { enabled, approval, show }: Given[number],
  before: Pick<ToolFunction, 'enabled' | 'approval' | 'show'>,
): Pick<ToolFunction, 'enabled' | 'approval' | 'show'> => ({
  enabled: enabled ?? before.enabled,
  approval: approval === undefined ? before.approval : approval,
  show: show === undefined ? before.show : show,
});

const wrong = (field: string): Failure => new Failure('invalid_field', { field });
