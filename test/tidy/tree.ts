/** The project's own files as text, and the facts of each source file that the rules of the house need. */
import { parse } from '@babel/parser';
import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';

/** Text by path; paths are relative to the root, with forward slashes. */
export type Tree = ReadonlyMap<string, string>;

export interface Import {
  /** The path of the file it resolves to, or the bare name of a package or of Node's own module. */
  readonly target: string;
  readonly ours: boolean;
  /** True for an import of types alone. */
  readonly types: boolean;
  readonly line: number;
}

/** A node of the syntax tree, as the parser makes it; only what every node has is named. */
export interface Syntax {
  readonly type: string;
  readonly loc: { readonly start: { readonly line: number }; readonly end: { readonly line: number } };
  readonly [field: string]: unknown;
}

export interface Source {
  readonly path: string;
  readonly imports: readonly Import[];
  /**
   * Files that a relative string literal names, imports included: a worker or a child process is reached in this way.
   */
  readonly named: readonly string[];
  readonly nodes: readonly Syntax[];
}

const isSource = (path: string): boolean => /\.(tsx?|mjs)$/.test(path);

/** Every file of text under `root` but git's own and what .gitignore leaves out. */
export function readTree(root: string): Tree {
  const ignored = ignores(readFileSync(join(root, '.gitignore'), 'utf8'));
  const tree = new Map<string, string>();
  const visit = (folder: string): void => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = posix.join(folder, entry.name);
      if (ignored(entry.name)) continue;
      if (entry.isDirectory()) visit(path);
      else if (!/\.(?:png|ico)$/.test(path)) tree.set(path, readFileSync(join(root, path), 'utf8'));
    }
  };
  visit('');
  return tree;
}

/** The plain kinds of line that our .gitignore has: a name, a folder, an ending. */
function ignores(text: string): (name: string) => boolean {
  const lines = text
    .split('\n')
    .map((line) => line.trim().replace(/\/$/, ''))
    .filter((line) => line !== '' && !line.startsWith('#'));
  return (name) =>
    name === '.git' || lines.some((line) => (line.startsWith('*') ? name.endsWith(line.slice(1)) : name === line));
}

/** Parsed files by path, each with the text that was parsed: trees share most of their files. */
const parsed = new Map<string, { readonly text: string; readonly source: Source }>();

/** The source files of a tree, each parsed once. */
export const sourcesOf = (tree: Tree): readonly Source[] =>
  [...tree].filter(([path]) => isSource(path)).map(([path, text]) => sourceOf(path, text));

function sourceOf(path: string, text: string): Source {
  const known = parsed.get(path);
  if (known?.text === text) return known.source;
  const source = readSource(path, text);
  // The example of a rule does not displace the file of the project.
  if (known === undefined) parsed.set(path, { text, source });
  return source;
}

function readSource(path: string, text: string): Source {
  const program = parse(text, {
    sourceType: 'module',
    sourceFilename: path,
    attachComment: false,
    plugins: path.endsWith('.tsx') ? ['typescript', 'jsx'] : ['typescript'],
  }).program;
  const nodes = flatten(program as unknown as Syntax);
  const imports: Import[] = [];
  const named: string[] = [];
  for (const node of nodes) {
    const specifier = importedBy(node);
    if (specifier !== null)
      imports.push({
        ...resolve(path, specifier),
        types: node['importKind'] === 'type' || node['exportKind'] === 'type' || node.type === 'TSImportType',
        line: node.loc.start.line,
      });
    const value = node.type === 'StringLiteral' ? String(node['value']) : '';
    if (value.startsWith('.') && isSource(value)) named.push(resolve(path, value).target);
  }
  return { path, imports, named, nodes };
}

function flatten(top: Syntax): Syntax[] {
  const nodes: Syntax[] = [];
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) visit(each);
    else if (isSyntax(value)) {
      nodes.push(value);
      for (const field in value) if (typeof value[field] === 'object' && !notSyntax.has(field)) visit(value[field]);
    }
  };
  visit(top);
  return nodes;
}

const notSyntax = new Set(['loc', 'extra', 'errors']);

export const isSyntax = (value: unknown): value is Syntax =>
  typeof value === 'object' && value !== null && 'type' in value && 'loc' in value;

/**
 * Returns the module that a node imports, in each of the ways that the language has: `import`, `export … from`,
 * `import()`, `import('…').Type`.
 */
function importedBy(node: Syntax): string | null {
  const source = importing.has(node.type)
    ? (node['source'] ?? node['argument'])
    : node.type === 'CallExpression'
      ? dynamic(node)
      : null;
  return isSyntax(source) && source.type === 'StringLiteral' ? String(source['value']) : null;
}

const importing = new Set([
  'ImportDeclaration',
  'ExportNamedDeclaration',
  'ExportAllDeclaration',
  'ImportExpression',
  'TSImportType',
]);

function dynamic(call: Syntax): unknown {
  const callee = call['callee'];
  return isSyntax(callee) && callee.type === 'Import' ? (call['arguments'] as unknown[])[0] : null;
}

function resolve(path: string, specifier: string): { target: string; ours: boolean } {
  const ours = specifier.startsWith('.');
  return { target: ours ? posix.join(posix.dirname(path), specifier) : specifier, ours };
}
