/** Every state × event of every machine has its outcome, written down here row by row (promise: only legal states). */
import t from 'tap';
import { errors } from '../../src/base/errors.ts';
import { machines, step, transitionsOf } from './machine.ts';

const codes = new Set<string>(Object.values(errors).map((row) => row.code));

for (const [name, { machine, rows }] of Object.entries(machines)) {
  t.test(`${name}: the table`, async (t) => {
    for (const { from, context, event, to, outcomes, changes } of rows) {
      const after = step(machine, { state: from, context }, event);
      t.strictSame(
        { state: after.state, outcomes: after.outcomes, context: after.context },
        { state: to, outcomes, context: { ...context, ...changes } },
        `${from} × ${JSON.stringify(event)} in ${JSON.stringify(context)}`,
      );
    }
  });

  t.test(`${name}: the table holds every state × event, and every transition is taken by a row of it`, async (t) => {
    const cells = new Set(rows.map((row) => `${row.from} × ${row.event.type}`));
    for (const state of Object.keys(machine.states)) {
      for (const event of machine.events) t.ok(cells.has(`${state} × ${event}`), `${state} × ${event}`);
    }
    const taken = new Set(
      rows.flatMap((row) => step(machine, { state: row.from, context: row.context }, row.event).transitions),
    );
    const left = transitionsOf(machine).filter((transition) => !taken.has(transition));
    t.strictSame(
      left.map((one) => `${one.source.key} × ${one.eventType} [${String(one.guard)}]`),
      [],
      'no transition is left over',
    );
  });

  t.test(`${name}: nothing is ever passed over in silence`, async (t) => {
    for (const { from, context, event } of rows) {
      const { outcomes, atStart } = step(machine, { state: from, context }, event);
      t.not(outcomes.length, 0, `${from} × ${event.type} says something`);
      t.strictSame(atStart, { transitions: [], outcomes: [] }, 'waking up does nothing');
    }
    for (const state of Object.values(machine.states)) {
      for (const event of machine.events) {
        const candidates = [...(state.transitions.get(event) ?? []), ...(machine.root.transitions.get(event) ?? [])];
        t.equal(candidates.at(-1)?.guard, undefined, `${state.key} × ${event} ends in a case without a condition`);
        for (const candidate of candidates)
          t.not(candidate.actions.length, 0, `${state.key} × ${event} acts in every case`);
      }
    }
  });

  t.test(`${name}: every refusal is a row of the table of errors`, async (t) => {
    for (const { from, event, outcomes } of rows) {
      for (const { type, code } of outcomes)
        if (type === 'refused') t.ok(codes.has(code ?? ''), `${from} × ${event.type}: ${code}`);
    }
    const named = transitionsOf(machine).flatMap((one) =>
      one.actions.map((action) => (action as { params?: { code?: string } }).params?.code),
    );
    for (const code of named) if (code !== undefined) t.ok(codes.has(code), `the definition's ${code}`);
  });
}
