/**
 * Reads results of an MCP server (contract 13): the parts that are used, and nothing else, so that what is odd about
 * the rest does no harm.
 */
import { isNestedWithin, isObject } from '../../../base/json.ts';
import { limits } from '../../../base/limits.ts';
import { indexAfter } from '../../../base/text.ts';
import type { ListedTool, ToolResult } from '../../tool.ts';
import { failed } from '../sending.ts';
import { listedSchema } from '../listed-schema.ts';
import { headerDeclarations } from './parameter-headers.ts';

/** The deepest structure that is written as text: a deeper one would need a stack as deep. */
const nestingMax = 200;

/**
 * The result of `tools/call`. Texts are joined by line breaks; without one the output is the structured content; images
 * and the like are named.
 */
export function callResult(result: unknown): ToolResult {
  if (!isObject(result)) return failed('malformed');
  const { isError, resultType, structuredContent } = result;
  const parts = partsOf(result['content']);
  const texts = parts.map(textOf).filter((text) => text !== null);
  if (isError === true) return failed('refused', { refusalText: cut(texts.join('\n')) });
  // The server wants an answer, or to go on later: neither was offered.
  if (typeof resultType === 'string' && resultType !== 'complete') return failed('refused');
  const hasStructure = texts.length === 0 && structuredContent !== undefined && structuredContent !== null;
  if (hasStructure && !isNestedWithin(structuredContent, nestingMax)) return failed('malformed');
  const words = parts.map((part) => textOf(part) ?? names.get(part['type'])).filter((word) => word !== undefined);
  return {
    status: 'completed',
    output: [...(hasStructure ? [JSON.stringify(structuredContent)] : []), ...words].join('\n'),
  };
}

const names: ReadonlyMap<unknown, string> = new Map([
  ['image', '[image]'],
  ['audio', '[audio]'],
  ['resource', '[resource]'],
  ['resource_link', '[resource]'],
]);

type Part = Readonly<Record<string, unknown>>;

/** The parts of a content; a text or a part alone is a content of one. */
function partsOf(content: unknown): readonly Part[] {
  const parts = Array.isArray(content) ? content : [content];
  return parts.flatMap((part): Part[] =>
    typeof part === 'string' ? [{ type: 'text', text: part }] : isObject(part) ? [part] : [],
  );
}

/** The text of a part, or of the resource in it; null if it has none. */
function textOf({ type, text, resource }: Part): string | null {
  const held =
    type === 'resource' && isObject(resource) ? resource['text'] : type === 'text' || type === undefined ? text : null;
  return typeof held === 'string' ? held : null;
}

const cut = (text: string): string => text.slice(0, indexAfter(text, limits.toolRefusalCharactersMax));

export interface ListPage {
  readonly tools: readonly ListedTool[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

/**
 * A page of `tools/list`; null if it is none. `isModern`: in that era a tool with a header that is not allowed is
 * invalid as a whole.
 */
export function listPage(result: unknown, isModern: boolean): ListPage | null {
  if (!isObject(result) || !Array.isArray(result['tools'])) return null;
  const { nextCursor } = result;
  const tools = result['tools'].filter(isNamed).map(({ name, description, inputSchema }): ListedTool => {
    // First: it bounds how deeply a schema is nested.
    const schema = listedSchema(inputSchema);
    const isRefused = schema !== null && isModern && headerDeclarations(inputSchema) === null;
    return {
      name,
      description: typeof description === 'string' ? description : null,
      parameters: isRefused ? null : schema,
    };
  });
  return { tools, nextCursor: typeof nextCursor === 'string' && nextCursor !== '' ? nextCursor : null };
}

const isNamed = (tool: unknown): tool is Part & { readonly name: string } =>
  isObject(tool) && typeof tool['name'] === 'string' && tool['name'] !== '';
