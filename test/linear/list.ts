/** The regular expressions of the source: its literals, and those that are built as a module loads. */
import { sourcesOf, type Syntax, type Tree } from '../tidy/tree.ts';
import { patternsIn } from './schemas.ts';

export interface Listed {
  readonly path: string;
  readonly line: number;
  readonly expression: RegExp;
  /** Whether every match is searched for, and not the first alone. */
  readonly isGlobal: boolean;
}

/**
 * The modules that build regular expressions as they load. `test/tidy.test.ts` fails where one is not named here, or
 * builds them later, out of sight.
 */
export const building: Readonly<Record<string, () => Promise<unknown>>> = {
  'src/base/link-fields.ts': () => import('../../src/base/link-fields.ts'),
  'src/providers/tool/pattern.ts': () => import('../../src/providers/tool/pattern.ts'),
  'src/providers/voice/interruption.ts': () => import('../../src/providers/voice/interruption.ts'),
  'src/providers/voice/english.ts': () => import('../../src/providers/voice/english.ts'),
  'src/providers/voice/sentences.ts': () => import('../../src/providers/voice/sentences.ts'),
  'src/providers/voice/unfinished.ts': () => import('../../src/providers/voice/unfinished.ts'),
};

/** The modules that may build an expression from a text that they are given, with the reason why that is safe. */
export const givenPatterns: Readonly<Record<string, string>> = {
  'src/providers/tool/schema-check.ts':
    "a schema's pattern, if it is plain and short: test/providers/tool/schema-check.test.ts tries those that are slow",
};

/** The literals of the source. */
export function literalsOf(tree: Tree): Listed[] {
  const ours = new Map([...tree].filter(([path]) => /^(src|machines)\//.test(path)));
  return sourcesOf(ours).flatMap(({ path, nodes }) => {
    const splitting = new Set(nodes.flatMap(splitBy));
    return nodes
      .filter(({ type }) => type === 'RegExpLiteral')
      .map((node) => {
        const expression = new RegExp(String(node['pattern']), String(node['flags']));
        return { path, line: node.loc.start.line, expression, isGlobal: expression.global || splitting.has(node) };
      });
  });
}

/**
 * The patterns of the shapes on the wire, as their validators build them. They load modules of `building`, which must
 * be loaded before.
 */
export async function patternsOfShapes(): Promise<Listed[]> {
  const patterns = patternsIn(await import('../../src/wire/wire.ts'));
  return [...patterns].map((pattern) => ({
    path: 'src/wire/wire.ts',
    line: 0,
    expression: new RegExp(pattern, 'u'),
    isGlobal: false,
  }));
}

/**
 * Returns the literal by which a call splits a text: it is searched for again and again, with or without a `g` flag.
 */
function splitBy(node: Syntax): Syntax[] {
  const callee = node.type === 'CallExpression' ? (node['callee'] as Syntax) : null;
  const isSplit = callee?.type === 'MemberExpression' && (callee['property'] as Syntax)['name'] === 'split';
  return isSplit ? (node['arguments'] as Syntax[]).slice(0, 1) : [];
}

/** The expressions that the modules of `building` build. Each must be loaded here first. */
export async function builtOnes(): Promise<Listed[]> {
  const found: Listed[] = [];
  const { RegExp } = globalThis;
  for (const [path, load] of Object.entries(building)) {
    const built: RegExp[] = [];
    const noting: ProxyHandler<RegExpConstructor> = {
      construct(target, given) {
        built.push(new target(...(given as [string, string])));
        return built.at(-1)!;
      },
    };
    globalThis.RegExp = new Proxy(RegExp, noting);
    try {
      await load();
    } finally {
      globalThis.RegExp = RegExp;
    }
    if (built.length === 0) throw new Error(`${path} was loaded before, or builds no regular expression`);
    found.push(...built.map((expression) => ({ path, line: 0, expression, isGlobal: expression.global })));
  }
  return found;
}
