/**
 * Finds regular expressions that test/linear does not try: those that are built from texts where its list does not know
 * of it.
 */
import { building, givenPatterns } from '../linear/list.ts';
import type { Syntax } from './tree.ts';

const functions = /Function|Method$/;

export function unlistedExpressions(
  path: string,
  nodes: readonly Syntax[],
): { readonly line: number; readonly what: string }[] {
  if (path in givenPatterns) return [];
  const bodies = nodes.filter(({ type }) => functions.test(type));
  return nodes.flatMap((node) => {
    const what = builtBy(node);
    if (what === null) return [];
    const isLate = bodies.some(
      (body) =>
        (body['start'] as number) < (node['start'] as number) && (node['end'] as number) <= (body['end'] as number),
    );
    if (what === 'RegExp' && path in building && !isLate) return [];
    const where =
      what !== 'RegExp'
        ? 'takes a text for a regular expression'
        : isLate
          ? 'is built in a function'
          : 'is not in the list of test/linear/list.ts';
    return [{ line: node.loc.start.line, what: `${what} ${where}` }];
  });
}

/** Methods that make an expression of a text. */
const searching: ReadonlySet<unknown> = new Set(['match', 'matchAll', 'search']);

/** The constructor or the method that makes an expression of a text here; null for none. */
function builtBy(node: Syntax): string | null {
  if (node.type !== 'NewExpression' && node.type !== 'CallExpression') return null;
  const callee = node['callee'] as Syntax;
  const first = (node['arguments'] as Syntax[])[0];
  const name = (callee.type.endsWith('MemberExpression') ? (callee['property'] as Syntax) : callee)['name'];
  if (name === 'RegExp') return 'RegExp';
  const isText = first?.type === 'StringLiteral' || first?.type === 'TemplateLiteral';
  return callee.type.endsWith('MemberExpression') && searching.has(name) && isText ? String(name) : null;
}
