/** The drawing of a request in docs/house.md has the stages of the code and the exits of the route. */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { errors } from '../src/base/errors.ts';
import { openapiDocument } from '../src/http/reference/openapi.ts';
import { publicRoutes } from '../src/http/routes.ts';
import { readTree, sourcesOf } from './tidy/tree.ts';

const root = new URL('../', import.meta.url);
const tree = [...readTree(fileURLToPath(root))].filter(([path]) => /^(?:src|machines)\//.test(path));
const sources = new Map(sourcesOf(new Map(tree)).map((source) => [source.path, source]));

interface Stage {
  readonly path: string;
  readonly column: number;
  readonly parent: Stage | null;
  readonly exits: string[];
}

/** The stages of the drawing, each with its exits as `status name`. */
function stagesOf(page: string): Stage[] {
  const [, drawing = ''] = /^## One request\n[^]*?```text\n([^]*?)```/m.exec(page) ?? [];
  const stages: Stage[] = [];
  for (const line of drawing.split('\n')) {
    const [, indent, file] = /^(.*?)▶ (\S+\.ts)/.exec(line) ?? [];
    if (file !== undefined) {
      const column = indent!.length;
      const parent = stages.findLast((stage) => stage.column < column) ?? null;
      stages.push({ path: `${file.startsWith('machines/') ? '' : 'src/'}${file}`, column, parent, exits: [] });
    }
    const [, status, names] = /▷ (\d{3}) (.+)$/.exec(line) ?? [];
    if (names !== undefined) stages.at(-1)!.exits.push(...names.split(' · ').map((name) => `${status} ${name}`));
  }
  return stages;
}

/** All files that a file imports, directly or through others. */
function closureOf(path: string): Set<string> {
  const closure = new Set<string>();
  const visit = (from: string): void => {
    for (const { target, ours } of sources.get(from)?.imports ?? []) {
      if (!ours || closure.has(target)) continue;
      closure.add(target);
      visit(target);
    }
  };
  visit(path);
  return closure;
}

const stages = stagesOf(readFileSync(new URL('docs/house.md', root), 'utf8'));

t.test('each stage of the drawing imports the stages below it, and none of them imports it', async (t) => {
  t.ok(stages.length > 12, `${stages.length} stages`);
  for (const { path, parent } of stages) {
    t.ok(existsSync(new URL(path, root)), path);
    if (parent === null) continue;
    t.ok(closureOf(parent.path).has(path), `${parent.path} imports ${path}`);
    t.notOk(closureOf(path).has(parent.path), `${path} does not import ${parent.path}`);
  }
});

t.test('a stage, or a file that it imports, names each of its exits', async (t) => {
  for (const { path, exits } of stages) {
    const texts = [path, ...closureOf(path)].map((file) => readFileSync(new URL(file, root), 'utf8'));
    for (const exit of exits) {
      const name = exit.slice(4);
      t.equal(String(errors[name as keyof typeof errors]?.status), exit.slice(0, 3), exit);
      t.ok(
        texts.some((text) => text.includes(`'${name}'`)),
        `${path}: ${name}`,
      );
    }
  }
});

t.test('the exits of the drawing are the errors that the route declares', async (t) => {
  const document = openapiDocument(publicRoutes({ managementPort: null })) as unknown as {
    readonly paths: Record<string, Record<string, { readonly responses: Record<string, Failed> }>>;
  };
  const { responses } = document.paths['/sessions/{id}/chat']!['post']!;
  const declared = Object.entries(responses).flatMap(([status, { content }]) =>
    Number(status) < 400 ? [] : Object.keys(content!['application/json']!.examples).map((name) => `${status} ${name}`),
  );
  const drawn = new Set(stages.flatMap(({ exits }) => exits));
  t.same([...drawn, '500 api_error'].toSorted(), declared.toSorted());
});

/** A failure in the OpenAPI document: an example for each row of the error table. */
interface Failed {
  readonly content?: Readonly<Record<string, { readonly examples: object }>>;
}
