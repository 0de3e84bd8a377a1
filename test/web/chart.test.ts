/** The charts: what they show is what the machines do. */
import fc from 'fast-check';
import t from 'tap';
import { actorKinds, kinds, type ActorKind } from '../../machines/all.ts';
import { transitionsOf } from '../../machines/transitions.ts';
import { decide, eventsOf, type AnyEvent, type Standing } from '../../src/web/chart/copy.ts';
import { drawingOf, rowOf } from '../../src/web/chart/drawing.ts';
import { answerTo, questionsOf } from '../../src/web/chart/questions.ts';
import { route, type Box, type Wire } from '../../src/web/chart/routing.ts';
import { codeOf, contextsOf, stepsOf, withStep, type Step } from '../../src/web/chart/steps.ts';
import type { HistoryRow } from '../../src/web/types.ts';

t.test('each transition of each machine has a row, and each row a transition', async (t) => {
  for (const kind of actorKinds) {
    const { cards, arrows } = drawingOf(kind);
    const transitions = transitionsOf(kinds[kind].machine);
    t.same(cards.map(({ name }) => name), Object.keys(kinds[kind].machine.states), kind);
    for (const { state, event, target } of transitions) {
      const rows = cards.find(({ name }) => name === state)!.rows.filter((row) => row.events.includes(event) && row.target === (target === state ? null : target));
      t.ok(rows.length > 0, `${kind} ${state} ${event}`);
    }
    const moves = new Set(transitions.filter(({ state, target }) => state !== target).map(({ state, target }) => `${state} ${target}`));
    t.same(new Set(arrows.map(({ key }) => key)), moves, `${kind}: arrows between states alone`);
  }
});

const contexts: Readonly<Record<ActorKind, readonly object[]>> = {
  session: [{ expiresAt: 4_000_000_000, endedAt: null, activeTurnId: null }, { expiresAt: 4_000_000_000, endedAt: null, activeTurnId: 'turn_1' }],
  key: [{ expiresAt: null, revokedAt: null, debt: null }, { expiresAt: null, revokedAt: null, debt: { budget: 'requests', until: 9e15 } }],
  workspace: [{ inFlight: 0, max: 2 }, { inFlight: 2, max: 2 }],
  assistant: [{ voice: true }, { voice: false }],
  socket: [{ tokenUntil: 9e15, expiresAt: null, reason: null }],
  visitor: [{ clockUntil: 9e15, refusal: null }, { clockUntil: 0, refusal: { limit: 'minutes_per_day', until: 9e15 } }],
};

t.test('whatever happens takes a row that leads where it went and refuses with its code', async (t) => {
  for (const kind of actorKinds) {
    for (const state of Object.keys(kinds[kind].machine.states)) {
      for (const context of contexts[kind]) {
        for (const question of questionsOf(kind)) {
          const answer = answerTo(kind, { state, context }, question, 1_000_000)!;
          const row = rowOf(drawingOf(kind), { event: question.event, from: state, to: answer.state, outcomes: answer.outcomes });
          const code = codeOf(answer.outcomes);
          const refusal = row?.refusal ?? null;
          t.ok(row !== undefined && (refusal === code || (code !== null && refusal?.startsWith('('))), `${kind} ${state} ${question.event} ${question.when ?? ''}: ${code ?? answer.state}`);
        }
      }
    }
    t.same(new Set(questionsOf(kind).map(({ event }) => event)), new Set(eventsOf(kind)), `${kind}: every event can be asked`);
  }
});

/** The history of a life, as the server writes it: what refused in a row is one row. */
function historyOf(kind: ActorKind, start: Standing, events: readonly AnyEvent[]): { rows: HistoryRow[]; contexts: unknown[] } {
  const rows: HistoryRow[] = [];
  const after: unknown[] = [];
  let standing = start;
  let seq = 0;
  for (const event of events) {
    const { state, context, outcomes } = decide(kind, standing, event);
    const refused = codeOf(outcomes) !== null;
    if (!refused || state !== standing.state) seq++;
    rows.push({ seq, at: Math.floor(Number(event['at']) / 1000), event: event.type, from: standing.state, to: state, outcomes: [...outcomes], refused, request_id: null, by: null, count: 1, data: null, context: null, version: 1 });
    after.push(context);
    standing = { state, context };
  }
  return { rows, contexts: after };
}

t.test('folding the history of a session gives its context at every step', async (t) => {
  const expiresAt = 5000;
  const turnId = fc.constantFrom('turn_1', 'turn_2', 'turn_3');
  const happening = fc.oneof(
    fc.record({ type: fc.constant('chat'), turnId, assistantRefusal: fc.constantFrom(null, null, 'assistant_disabled') }),
    fc.record({ type: fc.constantFrom('finished', 'abort'), turnId }),
    fc.record({ type: fc.constantFrom('end', 'tick') }, {}),
  );
  const life = fc.array(fc.tuple(happening, fc.integer({ min: 0, max: 400_000 })), { maxLength: 30 });
  fc.assert(
    fc.property(life, (given) => {
      let at = 4_000_000;
      const events = given.map(([event, wait]) => ({ ...event, at: (at += wait) }));
      const { rows, contexts } = historyOf('session', { state: 'open', context: { expiresAt, endedAt: null, activeTurnId: null } }, events);
      const steps = stepsOf(rows);
      // Equal refusals in a row are one step: of those the last counts.
      const kept = rows.map((_, index) => index).filter((index) => stepsOf(rows.slice(0, index + 2)).length > stepsOf(rows.slice(0, index + 1)).length || index === rows.length - 1);
      const folded = contextsOf('session', steps, { expiresAt, endedAt: null });
      return JSON.stringify(folded) === JSON.stringify(kept.map((index) => contexts[index]));
    }),
    { numRuns: 300, seed: 14 },
  );
  t.pass('300 lives');
});

t.test('steps: a committed one comes once, equal refusals are counted, and each has a name', async (t) => {
  const step = (seq: number, fields: Partial<Step> = {}): Step => ({ id: '', seq, at: 0, event: 'chat', from: 'open', to: 'streaming', outcomes: [{ type: 'turn.begun' }], refused: false, requestId: null, by: null, count: 1, ...fields });
  const refusal = (seq: number, code = 'turn_in_progress'): Step => step(seq, { from: 'streaming', refused: true, outcomes: [{ type: 'refused', code }] });
  const given = [step(1), step(1), refusal(1), refusal(1), refusal(1, 'assistant_disabled'), step(2, { event: 'finished', from: 'streaming', to: 'open' }), refusal(2)];
  const steps = given.reduce(withStep, [] as readonly Step[]);
  t.same(steps.map(({ id, count }) => [id, count]), [['1', 1], ['1r1', 2], ['1r2', 1], ['2', 1], ['2r1', 1]]);
});

const box = (row: number, column: number, height: number, top: number): Box => ({ row, column, top, bottom: top + height, left: 24 + column * 420, right: 24 + column * 420 + 340 });

/** The straight pieces of a path; its rounded corners lie within them. */
function pieces(path: string): [number, number, number, number][] {
  const points = [...path.matchAll(/[MLQ ]?(-?[\d.]+) (-?[\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)] as const);
  return points.slice(1).map(([x, y], index) => [points[index]![0], points[index]![1], x, y]);
}

t.test('no arrow crosses a card, and no two run on one another', async (t) => {
  for (const kind of actorKinds) {
    const { cards, arrows } = drawingOf(kind);
    const tops = [0, 400, 800];
    const boxes = new Map(cards.map(({ name, rows }, index) => [name, box(Math.floor(index / 2), index % 2, 50 + rows.length * 25, tops[Math.floor(index / 2)]!)]));
    const wires: Wire[] = arrows.map(({ key, from, to }, index) => ({ key, from: boxes.get(from)!, to: boxes.get(to)!, y: boxes.get(from)!.top + 60 + (index % 4) * 25 }));
    const paths = route(wires);
    t.equal(paths.size, arrows.length, kind);
    const verticals = new Map<number, [number, number, string][]>();
    for (const [key, path] of paths) {
      for (const [x1, y1, x2, y2] of pieces(path)) {
        for (const [name, { left, right, top, bottom }] of boxes) {
          const inside = Math.max(x1, x2) > left + 1 && Math.min(x1, x2) < right - 1 && Math.max(y1, y2) > top + 1 && Math.min(y1, y2) < bottom - 1;
          t.notOk(inside, `${kind}: ${key} stays out of ${name}`);
        }
        if (x1 === x2 && Math.abs(y1 - y2) > 4) verticals.set(x1, [...(verticals.get(x1) ?? []), [Math.min(y1, y2), Math.max(y1, y2), key]]);
      }
    }
    for (const runs of verticals.values()) {
      for (const [from, to, key] of runs) t.notOk(runs.some(([start, end, other]) => other !== key && start < to && end > from), `${kind}: ${key} runs alone`);
    }
  }
});
