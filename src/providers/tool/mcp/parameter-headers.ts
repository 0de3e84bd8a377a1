/**
 * Headers that repeat arguments of a tool call, if the tool's schema requests it with `x-mcp-header` (MCP 2026-07-28,
 * Streamable HTTP, "Schema Extension").
 */
import { isObject, type Json } from '../../../base/json.ts';

const prefix = 'mcp-param-';
const keyword = 'x-mcp-header';
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}$/;
const types: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);

/** An argument that is repeated, by its names from the outermost object inwards. */
interface Declaration {
  readonly path: readonly string[];
  readonly name: string;
}

/** Returns the declarations of a schema; null if one is in a forbidden place, which makes the whole tool invalid. */
export function headerDeclarations(schema: unknown): readonly Declaration[] | null {
  const declarations: Declaration[] = [];
  const isValid = (node: unknown, path: readonly string[] | null): boolean => {
    if (Array.isArray(node)) return node.every((each) => isValid(each, null));
    if (!isObject(node)) return true;
    if (keyword in node) {
      const name = node[keyword];
      if (
        path === null ||
        path.length === 0 ||
        typeof name !== 'string' ||
        !token.test(name) ||
        !types.has(node['type'])
      )
        return false;
      declarations.push({ path, name: name.toLowerCase() });
    }
    return Object.entries(node).every(([key, value]) => {
      if (values.has(key)) return true;
      if (key !== 'properties' || !isObject(value))
        return isObject(value) && maps.has(key)
          ? Object.values(value).every((each) => isValid(each, null))
          : isValid(value, null);
      return Object.entries(value).every(([name, each]) => isValid(each, path && [...path, name]));
    });
  };
  if (!isValid(schema, [])) return null;
  return new Set(declarations.map(({ name }) => name)).size === declarations.length ? declarations : null;
}

/** Keywords whose values are schemas by names that the author chose. */
const maps: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);
/** Keywords whose values are plain values, not schemas. */
const values: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples']);

/** Returns the headers for a tool call; an omitted or null argument gives no header. */
export function parameterHeaders(schema: unknown, values: Json): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { path, name } of headerDeclarations(schema) ?? []) {
    const value = path.reduce<unknown>(
      (node, key) => (isObject(node) && Object.hasOwn(node, key) ? node[key] : undefined),
      values,
    );
    if (typeof value === 'string' || typeof value === 'boolean' || Number.isSafeInteger(value))
      headers[prefix + name] = headerValue(String(value));
  }
  return headers;
}

const plain = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;
const encoded = /^=\?base64\?.*\?=$/;

/** Encodes a text as a header value: unchanged, or in base64 if a header cannot carry it. */
export const headerValue = (text: string): string =>
  plain.test(text) && !encoded.test(text) ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
