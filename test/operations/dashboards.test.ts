/** The dashboard and the alerts in `deploy/`, against the metrics of a running server. */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { startServer } from '../process.ts';

const deploy = fileURLToPath(new URL('../../deploy', import.meta.url));
const alertsFile = join(deploy, 'alerts.yaml');
const read = (name: string): string => readFileSync(join(deploy, name), 'utf8');

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly description?: string;
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}
const dashboard = JSON.parse(read('grafana.json')) as { panels: Panel[] };
const alerts = [...read('alerts.yaml').matchAll(/^ +expr: (.+)$/gm)].map(([, expr]) => expr!);

/** Labels that Prometheus adds to each sample, and the bound of a histogram's bucket. */
const added = ['job', 'instance', 'le'];

/** Labels of each metric with their values; a histogram also under the names of its parts. */
function metricsOf(text: string): Map<string, Map<string, Set<string>>> {
  const metrics = new Map<string, Map<string, Set<string>>>();
  for (const [, name, labels] of text.matchAll(/^(parley_\w+)(?:\{(.*)\})? /gm)) {
    const known = metrics.get(name!) ?? new Map<string, Set<string>>();
    metrics.set(name!, known);
    for (const [, label, value] of (labels ?? '').matchAll(/(\w+)="([^"]*)"/g))
      known.set(label!, (known.get(label!) ?? new Set()).add(value!));
  }
  return metrics;
}

/** Faults of an expression: a metric, label or value that the server does not have. */
function faultsOf(expr: string, metrics: ReturnType<typeof metricsOf>): string[] {
  const names = [...expr.matchAll(/\bparley_\w+/g)].map(([name]) => name);
  const faults = names.filter((name) => !metrics.has(name)).map((name) => `no metric ${name}`);
  const labelsOf = (name: string): Map<string, Set<string>> => metrics.get(name) ?? new Map();
  for (const [, name, selector] of expr.matchAll(/\b(parley_\w+)\{([^}]*)\}/g))
    for (const [, label, operator, value] of selector!.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)) {
      if (added.includes(label!)) continue;
      const values = labelsOf(name!).get(label!);
      if (values === undefined) faults.push(`no label ${label} of ${name}`);
      // Values of these labels depend on the requests.
      else if (!['status', 'route'].includes(label!))
        for (const one of operator!.includes('~') ? value!.split('|') : [value!])
          if (!values.has(one)) faults.push(`no ${label}="${one}" of ${name}`);
    }
  for (const [, list] of expr.matchAll(/\bby \(([^)]*)\)/g))
    for (const label of list!.split(', '))
      if (!added.includes(label) && !names.some((name) => labelsOf(name).has(label))) faults.push(`no label ${label}`);
  return faults;
}

const targets = dashboard.panels.flatMap(({ title, targets }) =>
  (targets ?? []).map((target) => ({ title, ...target })),
);

t.test('each metric, label and value of dashboard and alerts is in /metrics of a server', async (t) => {
  const server = await startServer(t, { env: { PARLEY_STORE: 'memory:' } });
  await fetch(`${server.url}/readyz`);
  const metrics = metricsOf(await (await fetch(`${server.url}/metrics`)).text());
  t.ok(targets.length > 20 && alerts.length > 8);
  for (const expr of [...targets.map(({ expr }) => expr), ...alerts]) t.same(faultsOf(expr, metrics), [], expr);
  for (const { title, expr, legendFormat } of targets)
    for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g))
      t.match(expr, new RegExp(`by \\(.*\\b${label}\\b`), title);
  const wrong: Record<string, string[]> = {
    'sum(rate(parley_turn_total[5m]))': ['no metric parley_turn_total'],
    'sum by (state) (parley_turns_total)': ['no label state'],
    'parley_turns_total{state="failed"}': ['no label state of parley_turns_total'],
    'parley_turns_total{outcome=~"failed|lost"}': ['no outcome="lost" of parley_turns_total'],
  };
  for (const [expr, faults] of Object.entries(wrong)) t.same(faultsOf(expr, metrics), faults, `finds ${faults}`);
});

t.test(
  'each panel has a title, a description and an id of its own, and docs/operating.md has each alert’s limit',
  async (t) => {
    const charts = dashboard.panels.filter(({ targets }) => targets !== undefined);
    for (const { title, description } of charts) t.ok(title !== '' && description !== '', title);
    t.equal(new Set(dashboard.panels.map(({ id }) => id)).size, dashboard.panels.length);
    const docs = readFileSync(join(deploy, '../docs/operating.md'), 'utf8');
    const names = [...read('alerts.yaml').matchAll(/alert: (\w+)/g)].map(([, name]) => name!);
    t.equal(names.length, alerts.length);
    for (const name of names) t.ok(docs.includes(`\`${name}\``), name);
  },
);

/** Metrics that no panel and no alert has, each with the reason. */
const elsewhere: Readonly<Record<string, string>> = {
  parley_call_heard_total: 'ways in which calls were heard, which differ by voice and not by time',
  parley_call_interruptions_total: 'interruptions, which people make',
  parley_utterances_total: 'utterances, which people make',
  parley_voice_final_wait_seconds: 'a part of the time from voice to voice',
  parley_voice_process_endings_total: 'ends of voice processes, which are replaced by themselves',
  parley_voice_real_time_factor: 'the cause of the busy share of the voice processes',
  parley_voice_rung: 'the effect of the busy share of the voice processes',
  parley_voice_sockets: 'sockets of calls and of transcription, as the calls by their state',
  parley_voice_waiting: 'the cause of the time from voice to voice',
};

t.test('each metric of the source is on the dashboard, in an alert, or left out for a reason', async (t) => {
  const folder = fileURLToPath(new URL('../../src/metrics', import.meta.url));
  const named = new Set<string>();
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
    if (path.endsWith('.ts'))
      for (const [, name] of readFileSync(join(folder, path), 'utf8').matchAll(/'(parley_\w+)'/g)) named.add(name!);
  t.ok(named.size > 30, 'the metrics are found');
  const exprs = [...targets.map(({ expr }) => expr), ...alerts].join('\n');
  const isShown = (name: string): boolean => new RegExp(`\\b${name}(?:_bucket|_sum|_count)?\\b`).test(exprs);
  const unshown = [...named].filter((name) => !isShown(name));
  t.same(unshown.toSorted(), Object.keys(elsewhere).toSorted());
});

const promtool = spawnSync('promtool', ['--version']).error === undefined;
t.test('promtool accepts the alerts', { skip: !promtool && 'promtool is not installed' }, async (t) => {
  const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', alertsFile], { encoding: 'utf8' });
  t.equal(status, 0, stdout + stderr);
});
