/** The README's tables and diagrams are what the code says. */
import { readFile } from 'node:fs/promises';
import t from 'tap';
import { chart, machineNames } from '../src/charts.ts';
import { settings } from '../src/config.ts';
import { parts } from '../src/doctor/voice.ts';
import about from '../package.json' with { type: 'json' };

const readme = await readFile(new URL('../README.md', import.meta.url), 'utf8');

t.test('every machine is drawn, as `parley machines` prints it', async (t) => {
  const drawn = [...readme.matchAll(/```mermaid\n([\s\S]*?)\n```/g)].map((match) => match[1]);
  t.same(new Set(drawn), new Set(machineNames.map((name) => chart(name, 'mermaid'))));
});

t.test('every setting is listed, with its flag and default', async (t) => {
  const rows = [...readme.matchAll(/^\| `([A-Z_]+)` \| `(--[a-z-]+)` \| (?:`([^`]*)`)? ?\|/gm)].map(([, variable, flag, fallback]) => ({
    variable,
    flag,
    fallback: fallback ?? '',
  }));
  t.same(rows, settings.map(({ variable, flag, fallback }) => ({ variable, flag, fallback })));
});

t.test('NOTICE and the doctor have the terms of every optional package', async (t) => {
  const notice = await readFile(new URL('../NOTICE', import.meta.url), 'utf8');
  const optional = Object.keys(about.optionalDependencies);
  t.same(optional.filter((name) => !notice.includes(name)), []);
  t.same(parts.map(({ name }) => name).sort(), optional.filter((name) => !name.startsWith('@uwsjs/')).sort());
});
