/**
 * Reads the used parts of an MCP server's results (contract 13) and ignores the rest, so that oddities there do no
 * harm.
 */
import { isNestedWithin, isObject } from '../../../base/json.ts';
import { limits } from '../../../base/limits.ts';
import { indexAfter } from '../../../base/text.ts';
import type { ListedTool, ToolResult } from '../../tool.ts';
import { failed } from '../sending.ts';
import { listedSchema } from '../listed-schema.ts';
import { headerDeclarations } from './parameter-headers.ts';

/** Maximum nesting of a structure that is written as text: later recursion would overflow the stack. */
const nestingMax = 200;

/**
 * Returns the result of `tools/call`. Texts are joined by line breaks; without text the output is the structured
 * content; images and the like are named.
 */
export function toolCallResult(result: unknown): ToolResult {
  if (!isObject(result)) return failed('malformed');
  const { isError, resultType, structuredContent } = result;
  const parts = partsOf(result['content']);
  const texts = parts.map(partText).filter((text) => text !== null);
  if (isError === true) return failed('refused', { refusalText: cut(texts.join('\n')) });
  // Refuses a server that wants input or a later continuation: neither was offered.
  if (typeof resultType === 'string' && resultType !== 'complete') return failed('refused');
  const hasStructure = texts.length === 0 && structuredContent !== undefined && structuredContent !== null;
  if (hasStructure && !isNestedWithin(structuredContent, nestingMax)) return failed('malformed');
  const words = parts.map((part) => partText(part) ?? names.get(part['type'])).filter((word) => word !== undefined);
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

/** Returns the parts of a content; a single text or part counts as a content of one. */
function partsOf(content: unknown): readonly Part[] {
  const parts = Array.isArray(content) ? content : [content];
  return parts.flatMap((part): Part[] =>
    typeof part === 'string' ? [{ type: 'text', text: part }] : isObject(part) ? [part] : [],
  );
}

/** Returns the text of a part, or of the resource in it; null without a text. */
function partText({ type, text, resource }: Part): string | null {
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
 * A page of `tools/list`; null for a result of the wrong form. `isModern`: in that era a tool with a forbidden header
 * is invalid as a whole.
 */
export function listPage(result: unknown, isModern: boolean): ListPage | null {
  if (!isObject(result) || !Array.isArray(result['tools'])) return null;
  const { nextCursor } = result;
  const tools = result['tools'].filter(isNamed).map(({ name, description, inputSchema }): ListedTool => {
    // Checked first: it bounds the nesting of a schema.
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
