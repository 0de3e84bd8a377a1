/** The rules for a machine: no I/O, no clock, nothing that a restore from a snapshot would lose or repeat. */
import { readdirSync, readFileSync } from 'node:fs';
import t from 'tap';
import { tsImport } from 'tsx/esm/api';
import type { AnyStateMachine } from 'xstate';
import { chart, machineNames } from '../../src/http/charts.ts';
import { machines } from './machine.ts';

const folder = new URL('../../machines/', import.meta.url);
const files = readdirSync(folder).filter((file) => file.endsWith('.ts'));

/** The machines that a file exports. */
async function exported(file: string): Promise<AnyStateMachine[]> {
  const module: Record<string, unknown> = await tsImport(new URL(file, folder).href, import.meta.url);
  return Object.values(module).filter(
    (one): one is AnyStateMachine => typeof one === 'object' && one !== null && '__xstatenode' in one,
  );
}

const importPattern = /(?:\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)['"]([^'"]+)['"]/g;
const clockPattern =
  /\b(?:Date|performance|process|globalThis|fetch|setTimeout|setInterval|setImmediate|queueMicrotask|async|await|Promise|crypto)\b|Math\.random/;

t.test('machines import xstate and each other, and reach for neither a clock nor chance', async (t) => {
  t.not(files.length, 0);
  for (const file of files) {
    const source = readFileSync(new URL(file, folder), 'utf8');
    const foreign = [...source.matchAll(importPattern)]
      .map((match) => match[1]!)
      .filter((name) => name !== 'xstate' && !/^\.\/[a-z]+\.ts$/.test(name));
    t.strictSame(foreign, [], `${file} imports nothing else`);
    const code = source.replace(/\/\*[^]*?\*\/|\/\/.*/g, '');
    t.notMatch(code, clockPattern, `${file} is pure`);
  }
});

t.test('machines are free of waits and calls', async (t) => {
  for (const file of files) {
    for (const machine of await exported(file)) {
      const nodes = [machine.root, ...Object.values(machine.root.states)] as AnyStateMachine['root'][];
      for (const node of nodes) {
        t.strictSame(node.invoke, [], `${node.id} invokes nothing`);
        t.strictSame(node.after, [], `${node.id} has no delayed transition`);
        // XState's definition leaves these out, so that a chart would not show them.
        t.strictSame(node.always ?? [], [], `${node.id} has no transition without an event`);
        t.strictSame([node.entry, node.exit], [[], []], `${node.id} acts on events alone`);
        t.strictSame(
          Object.keys(node.states).length === 0 ? 'atomic' : 'compound',
          node.type,
          `${node.id} is a plain state`,
        );
      }
      const { actions, actors, delays } = machine.implementations;
      t.strictSame([actors, delays], [{}, {}], `${machine.id} knows no actor and no delay`);
      for (const [name, action] of Object.entries(actions)) {
        t.match(
          (action as unknown as { type: string }).type,
          /^xstate\.(?:assign|emit)$/,
          `${machine.id}: ${name} assigns or emits`,
        );
      }
    }
  }
});

t.test('every state says what it is', async (t) => {
  for (const [name, { machine }] of Object.entries(machines)) {
    for (const state of Object.values(machine.states))
      t.match(state.description ?? '', /^[A-Z].*\.$/, `${name}: ${state.key}`);
  }
});

t.test('every machine has its table and its chart', async (t) => {
  const ids = (await Promise.all(files.map(exported))).flat().map((machine) => machine.id);
  t.strictSame(Object.keys(machines).sort(), [...ids].sort(), 'tables');
  t.strictSame([...machineNames].sort(), [...ids].sort(), 'charts');
  for (const name of machineNames) t.equal(JSON.parse(chart(name, 'json')).id, name);
});
