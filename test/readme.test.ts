/** The pages of the documentation agree with the code, and their links and commands exist. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { chart, machineNames, stayingLabels } from '../src/http/charts.ts';
import { settings } from '../src/base/config.ts';
import { parts } from '../src/operations/doctor/voice.ts';
import { anchorsOf, broken, codeOf, linksOf } from './markdown.ts';
import about from '../package.json' with { type: 'json' };

const root = new URL('../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');

const frontPage = 'README.md';
const further = readdirSync(fileURLToPath(new URL('../docs/', import.meta.url)))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);
const pages = [frontPage, ...further, 'src/client/README.md'];

t.test('every machine is drawn, as `parley machines` prints it', async (t) => {
  const drawn = [...read('docs/machines.md').matchAll(/```mermaid\n([\s\S]*?)\n```/g)].map((match) => match[1]);
  t.same(new Set(drawn), new Set(machineNames.map((name) => chart(name, 'mermaid'))));
});

t.test('the page of the machines lists below each chart the events that keep the state', async (t) => {
  const head = '| state | event | outcome |\n|---|---|---|\n';
  const listed = [...read('docs/machines.md').matchAll(/```mermaid\n[\s\S]*?\n```\n\n([\s\S]*?)(?=\n\n|\n$)/g)];
  const rows = (name: (typeof machineNames)[number]): string =>
    stayingLabels(name)
      .map(({ state, events, outcomes }) => `| ${state} | ${events} | ${outcomes} |`)
      .join('\n');
  t.same(new Set(listed.map(([, table]) => table)), new Set(machineNames.map((name) => head + rows(name))));
});

t.test('every setting is listed, with its flag, default and description', async (t) => {
  const rows = [
    ...read('docs/settings.md').matchAll(/^\| `([A-Z_]+)` \| `(--[a-z-]+)` \| (?:`([^`]*)`)? ?\| (.*) \|$/gm),
  ].map(([, variable, flag, fallback, description]) => ({
    variable,
    flag,
    fallback: fallback ?? '',
    description: description!.toLowerCase(),
  }));
  t.same(
    rows,
    settings.map(({ variable, flag, fallback, description }) => ({
      variable,
      flag,
      fallback,
      description: description.toLowerCase(),
    })),
  );
});

t.test('NOTICE has the terms of every optional package, and the doctor those of the voice', async (t) => {
  const notice = read('NOTICE');
  const optional = Object.keys(about.optionalDependencies);
  t.same(
    optional.filter((name) => !notice.includes(name)),
    [],
  );
  const ofVoice = optional.filter((name) => !/^@(?:uwsjs|opentelemetry)\//.test(name));
  t.same(parts.map(({ name }) => name).sort(), ofVoice.sort());
});

t.test(
  'the front page is short and leaves ratios to docs/performance.md, which explains the highest of all runs',
  async (t) => {
    const lines = read(frontPage).trimEnd().split('\n');
    t.ok(lines.length <= 110, `${lines.length} lines`);
    t.same(
      lines.filter((line) => /[\d.]+ ×/.test(line)),
      [],
    );
    const measured = read('docs/performance.md');
    const explained = [
      ...measured.matchAll(/^- .* takes (at most )?([\d.]+ ×) .* \((one run; )?goal: [\d.]+ ×, \w+\)\.$/gm),
    ];
    t.ok(explained.length > 0);
    // The table has a range over several runs, and the figure by itself where one run is kept.
    t.same(
      explained
        .filter(
          ([, most, figure, alone]) =>
            (most === undefined) !== (alone !== undefined) ||
            !measured.includes(most === undefined ? `| ${figure} |` : ` – ${figure} |`),
        )
        .map(([sentence]) => sentence),
      [],
    );
  },
);

t.test('every metric that docs/operating.md names is one of the server', async (t) => {
  const advised = read('docs/operating.md');
  const kept = read('src/metrics/metrics.ts');
  const names = [...advised.matchAll(/parley_[a-z_]+/g)].map(([name]) => name.replace(/_bucket$/, ''));
  t.ok(names.length > 0);
  t.same(
    names.filter((name) => !kept.includes(`'${name}'`)),
    [],
  );
});

t.test('the house has a place for every file and folder of the source', async (t) => {
  const house = read('docs/house.md');
  const names = readdirSync(fileURLToPath(new URL('src', root)), { withFileTypes: true });
  t.same(
    names
      .map((entry) => entry.name + (entry.isDirectory() ? '/' : ''))
      .filter((name) => !new RegExp(`[\`/]${name.replaceAll('.', '\\.')}\``).test(house)),
    [],
  );
});

/** The text of a file; '' for a folder; null where nothing is. */
function textOf(path: string): string | null {
  if (!existsSync(new URL(path, root))) return null;
  return statSync(new URL(path, root)).isDirectory() ? '' : read(path);
}

t.test('every link leads to a file that is there, and to a heading that it has', async (t) => {
  for (const page of pages)
    t.same(broken(page, read(page), textOf), page === 'src/client/README.md' ? clientPackageOnly : [], page);
  const page = 'docs/a.md';
  const sample =
    '# A page\n[1](b.md) [2](gone.md) ![3](../c.png) [4](b.md#two-words) [5](b.md#two) [6](#a-page) [7](#none) [8](https://x.example/y) `[9](no.md)`\n```\n[10](no.md)\n```\n[11](/b.md) <img src="d.png">';
  const files: Record<string, string> = { 'docs/b.md': '## Two `words`!\n', 'c.png': '' };
  t.same(
    broken(page, sample, (path) => files[path] ?? null),
    ['gone.md', 'b.md#two', '#none', '/b.md', 'd.png'],
    'and what leads nowhere is found',
  );
  t.same([...anchorsOf('# One\n## One\n```\n# not one\n```\n### A & b_c, `d`: é\n')], ['one', 'one-1', 'a--b_c-d-é']);
});

/** Files that the client's README links to and that are beside it in the package alone: the build copies them there. */
const clientPackageOnly = ['LICENSE-eventsource-parser'];

t.test('every page says what it is, leads back to the front page, and is reached from there', async (t) => {
  for (const page of further) {
    const text = read(page);
    t.match(text, /^# \S.*\n\n[^#\s]/, `${page} has a title and begins with what it is`);
    t.ok(linksOf(text).includes('../README.md'), `${page} leads back`);
  }
  const reached = new Set(linksOf(read(frontPage)).map((link) => link.split('#')[0]!));
  t.same(
    further.filter((page) => !reached.has(page)),
    [],
  );
});

t.test('what a command names is there: test files, scripts, files of the benchmarks', async (t) => {
  for (const page of pages) {
    const code = codeOf(read(page));
    const paths = code.flatMap((text) =>
      [...text.matchAll(/(?<![\w./-])(?:test|bench|src|machines|docs)\/[\w./-]*\w\/?(?![\w*{…-])/g)].map(
        ([path]) => path,
      ),
    );
    t.same(
      paths.filter((path) => !existsSync(new URL(path, root)) && !madeLater.includes(path)),
      [],
      page,
    );
    const scripts = code.flatMap((text) => [...text.matchAll(/\bnpm run ([\w:-]+)/g)].map(([, script]) => script!));
    t.same(
      scripts.filter((script) => !(script in about.scripts)),
      [],
      page,
    );
  }
});

/** Files that a command makes. */
const madeLater = ['bench/results/report.html'];
