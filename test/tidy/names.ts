/** Finds the names by which a program reads a clock, sets a timer or draws random numbers. */
import { isSyntax, type Syntax } from './tree.ts';

/** Functions that are global, or that one of Node's modules exports under the same name. */
const free = new Set([
  'setTimeout',
  'setInterval',
  'setImmediate',
  'randomBytes',
  'randomUUID',
  'randomInt',
  'randomFill',
  'randomFillSync',
  'getRandomValues',
]);

/** Functions by the object that has them. */
const members = new Set([
  'Date.now',
  'performance.now',
  'process.hrtime',
  'process.uptime',
  'Math.random',
  'AbortSignal.timeout',
]);

/** Objects that hold the free functions too. `socket.setTimeout` is another matter: no timer of ours. */
const holders = new Set(['globalThis', 'global', 'crypto', 'webcrypto', 'timers']);

const modules = new Set(['node:timers', 'node:timers/promises', 'timers', 'timers/promises']);

export function namesOfClockAndChance(nodes: readonly Syntax[]): { name: string; line: number }[] {
  const keys = new Set(nodes.flatMap(keyOf));
  return nodes.flatMap((node) => {
    const name = nameIn(node, keys);
    return name === null ? [] : [{ name, line: node.loc.start.line }];
  });
}

function nameIn(node: Syntax, keys: ReadonlySet<Syntax>): string | null {
  switch (node.type) {
    case 'Identifier':
      return free.has(text(node)) && !keys.has(node) ? text(node) : null;
    case 'MemberExpression':
    case 'OptionalMemberExpression':
      return member(text(node['object']), text(node['property']));
    case 'NewExpression':
      return text(node['callee']) === 'Date' && count(node) === 0 ? 'new Date()' : null;
    case 'CallExpression':
      return text(node['callee']) === 'Date' ? 'Date()' : null;
    case 'ImportDeclaration':
      return modules.has(String((node['source'] as Syntax)['value'])) ? 'timers' : null;
    default:
      return null;
  }
}

function member(object: string, property: string): string | null {
  const name = `${object}.${property}`;
  return members.has(name) || (holders.has(object) && free.has(property)) ? name : null;
}

/**
 * The key of a node. An identifier that is only the name of a member (`socket.setTimeout`, `{ setTimeout: … }`) reads
 * nothing by itself; for an import the imported name counts.
 */
function keyOf(node: Syntax): Syntax[] {
  const key = node.type.endsWith('MemberExpression')
    ? node['property']
    : node.type === 'ImportSpecifier'
      ? node['local']
      : node['key'];
  return isSyntax(key) && node['computed'] !== true && node['shorthand'] !== true ? [key] : [];
}

const text = (node: unknown): string => (isSyntax(node) && node.type === 'Identifier' ? String(node['name']) : '');
const count = (node: Syntax): number => (node['arguments'] as unknown[]).length;
