/**
 * A chart shows the machine that runs: it has an arrow for every row of the tables that changes the state, and a label
 * for every other one.
 */
import t from 'tap';
import { chart, machineNames, stayingLabels } from '../../src/http/charts.ts';
import { machines } from './machine.ts';

/** `from --> to : label<br/>label` of every arrow, as [from, to, label]. */
const arrowsOf = (text: string): [from: string, to: string, label: string][] =>
  [...text.matchAll(/^ {2}(\w+) --> (\w+) : (.+)$/gm)].flatMap(([, from, to, labels]) =>
    labels!.split('<br/>').map((label): [string, string, string] => [from!, to!, label]),
  );

for (const name of machineNames) {
  const { machine, rows } = machines[name]!;
  const text = chart(name, 'mermaid');
  const drawn = arrowsOf(text);
  const staying = stayingLabels(name).map(({ state, events, outcomes }): [string, string, string] => [
    state,
    state,
    `${events} / ${outcomes}`,
  ]);
  const arrows = [...drawn, ...staying];

  t.test(`${name}: every row of its table has its arrow, or its label where the state stays`, async (t) => {
    for (const { from, context, event, to, outcomes } of rows) {
      const sayings = outcomes.map((outcome) => {
        const { type, code, reason, status } = outcome as {
          type: string;
          code?: string;
          reason?: string;
          status?: string;
        };
        const said = code ?? reason;
        // The code of another machine's answer, the failed party or the kind of a fault may only be known from the
        // event or the context.
        const [field] =
          [...Object.entries(event), ...Object.entries(context)].find(
            ([key, value]) => key !== 'type' && value === said,
          ) ?? [];
        return {
          literal: [type, said ?? status].filter(Boolean).join(' '),
          named: said !== undefined && field !== undefined ? `${type} (${field})` : null,
        };
      });
      const says = sayings.map(({ literal, named }) => named ?? literal);
      const literally = sayings.map(({ literal }) => literal).join(', ');
      const found = arrows.some(([source, target, label]) => {
        const [triggers, shown] = label.split(' / ');
        return (
          source === from &&
          target === to &&
          (shown === says.join(', ') || shown === literally) &&
          triggers!.split(', ').some((one) => one.split(' ')[0] === event.type)
        );
      });
      t.ok(found, `${from} --> ${to} : ${event.type} / ${says.join(', ')}`);
    }
  });

  t.test(`${name}: no arrow and no label but the machine's`, async (t) => {
    const known = new Set(rows.map((row) => `${row.from} × ${row.event.type} → ${row.to}`));
    for (const [from, to, label] of arrows) {
      for (const trigger of label.split(' / ')[0]!.split(', '))
        t.ok(known.has(`${from} × ${trigger.split(' ')[0]} → ${to}`), `${from} --> ${to} : ${trigger}`);
    }
    const pairs = drawn.map(([from, to]) => `${from} ${to}`);
    t.same(
      drawn.filter(([from, to]) => from === to),
      [],
      'every arrow changes the state',
    );
    t.equal(text.match(/-->/g)!.length, new Set(pairs).size + 1, 'one arrow for each pair of states, and the first');
  });

  t.test(`${name}: it is a diagram that Mermaid draws`, async (t) => {
    const lines = text.split('\n');
    t.equal(lines[0], 'stateDiagram-v2');
    t.equal(lines[1], `  [*] --> ${machine.root.initial.target[0]!.key}`);
    // Mermaid ends a label at a colon or a semicolon, takes # for an entity and % for a comment.
    for (const line of lines.filter((one) => one.includes(' --> ')))
      t.match(line, /^ {2}(?:\[\*\]|\w+) --> \w+(?: : [^:;#%{}]+)?$/);
    t.notMatch(text, /undefined|\[object|=>/, 'nothing unreadable');
    for (const state of Object.values(machine.states)) {
      t.ok(
        text.includes(`  note right of ${state.key}\n    ${state.description}\n  end note`),
        `${state.key} is described`,
      );
    }
  });

  t.test(`${name}: its definition as JSON`, async (t) => {
    const definition = JSON.parse(chart(name, 'json'));
    t.strictSame(definition, JSON.parse(JSON.stringify(machine.definition)));
    t.strictSame(Object.keys(definition.states), Object.keys(machine.states));
    t.match(chart(name, 'json'), /^\{\n {2}"id"/, 'indented');
  });
}
