/**
 * Finds regular expressions that test/linear does not try: those that are built from texts where its list does not know
 * of it.
 */
import { building, givenPatterns } from '../linear/list.ts';
import type { Syntax } from './tree.ts';

/** Bodies that run after the module has loaded. */
const late = /Function|Method$|^Class(?:Private)?Property$/;

export function unlistedExpressions(
  path: string,
  nodes: readonly Syntax[],
): { readonly line: number; readonly what: string }[] {
  if (path in givenPatterns) return [];
  const bodies = nodes.filter(({ type }) => late.test(type));
  const texts = namesOfTexts(nodes);
  const known = new Set(nodes.flatMap(namingTheConstructor));
  return nodes.flatMap((node) => {
    const what = builtBy(node, texts);
    const line = node.loc.start.line;
    if (isConstructor(node) && !known.has(node)) return [{ line, what: 'RegExp is passed on' }];
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
    return [{ line, what: `${what} ${where}` }];
  });
}

/** Methods that make an expression of a text. */
const searching: ReadonlySet<unknown> = new Set(['match', 'matchAll', 'search', 'compile']);

/** The constructor or the method that makes an expression of a text here; null for none. */
function builtBy(node: Syntax, texts: ReadonlySet<unknown>): string | null {
  if (!isCall(node)) return null;
  const callee = node['callee'] as Syntax;
  const first = (node['arguments'] as Syntax[])[0];
  if (isConstructor(callee) || nameAt(callee) === 'RegExp') return 'RegExp';
  const name = nameAt(callee);
  return isMember(callee) && searching.has(name) && first !== undefined && isText(first, texts) ? String(name) : null;
}

const isCall = ({ type }: Syntax): boolean => /^(?:New|(?:Optional)?Call)Expression$/.test(type);
const isMember = ({ type }: Syntax): boolean => type.endsWith('MemberExpression');
const isConstructor = ({ type, name }: Syntax): boolean => type === 'Identifier' && name === 'RegExp';

/** The name of a variable, or of the member that an expression takes. */
function nameAt(node: Syntax): unknown {
  const named = isMember(node) ? (node['property'] as Syntax) : node;
  return named['name'] ?? named['value'];
}

/** The places where the constructor's name stands for no value that goes elsewhere: it is called, a type, or compared with. */
function namingTheConstructor(node: Syntax): unknown[] {
  if (isCall(node)) {
    const callee = node['callee'] as Syntax;
    return [callee, callee['property']];
  }
  if (node.type === 'TSTypeReference') return [node['typeName']];
  return node.type === 'BinaryExpression' && node['operator'] === 'instanceof' ? [node['right']] : [];
}

/** Whether an argument is a text as it stands: a literal, one that is put together, or the name of one. */
const isText = (node: Syntax, texts: ReadonlySet<unknown>): boolean =>
  /^(?:String|Template)Literal$|^TaggedTemplate|^BinaryExpression$/.test(node.type) ||
  (node.type === 'Identifier' && texts.has(node['name']));

/** The names of the module that stand for texts: constants, and parameters of that type. */
function namesOfTexts(nodes: readonly Syntax[]): ReadonlySet<unknown> {
  const none: ReadonlySet<unknown> = new Set();
  return new Set(
    nodes.flatMap((node) => {
      const annotated = (node['typeAnnotation'] as Syntax | undefined)?.['typeAnnotation'] as Syntax | undefined;
      if (node.type === 'Identifier' && annotated?.type === 'TSStringKeyword') return [node['name']];
      const made = node.type === 'VariableDeclarator' ? (node['init'] as Syntax | null) : null;
      return made && isText(made, none) ? [(node['id'] as Syntax)['name']] : [];
    }),
  );
}
