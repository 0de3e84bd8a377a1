/** The charts show the machines' real behaviour. */
import { unattended } from '../../../machines/attendance.ts';
import { mintedCall } from '../../../machines/call.ts';
import { newReply } from '../../../machines/reply.ts';
import { begunTurn } from '../../../machines/turn.ts';
import fc from 'fast-check';
import t from 'tap';
import { actorKinds, kinds, type ActorKind } from '../../../machines/all.ts';
import { transitionsOf } from '../../../machines/transitions.ts';
import { decide, eventsOf, type AnyEvent, type Standing } from '../../../src/pages/console/chart/copy.ts';
import { drawingOf, rowOf, type Card } from '../../../src/pages/console/chart/drawing.ts';
import { answerTo, questionsOf } from '../../../src/pages/console/chart/questions.ts';
import { route, type Box, type Wire } from '../../../src/pages/console/chart/routing.ts';
import {
  begun,
  codeOf,
  contextsOf,
  historyPath,
  stepsOf,
  turnOf,
  withPassing,
  withRows,
  withStep,
  type Step,
} from '../../../src/pages/console/chart/steps.ts';
import type { HistoryRow } from '../../../src/pages/console/types.ts';

t.test('each transition of each machine has a row, and each row a transition', async (t) => {
  for (const kind of actorKinds) {
    const { cards, arrows } = drawingOf(kind);
    const transitions = transitionsOf(kinds[kind].machine);
    t.same(
      cards.map(({ name }) => name),
      Object.keys(kinds[kind].machine.states),
      kind,
    );
    for (const { state, event, target } of transitions) {
      const rows = cards
        .find(({ name }) => name === state)!
        .rows.filter((row) => row.events.includes(event) && row.target === (target === state ? null : target));
      t.ok(rows.length > 0, `${kind} ${state} ${event}`);
    }
    const moves = new Set(
      transitions.filter(({ state, target }) => state !== target).map(({ state, target }) => `${state} ${target}`),
    );
    t.same(new Set(arrows.map(({ key }) => key)), moves, `${kind}: arrows between states alone`);
  }
});

const contexts: Readonly<Record<ActorKind, readonly object[]>> = {
  session: [
    { expiresAt: 4_000_000_000, endedAt: null, activeTurnId: null },
    { expiresAt: 4_000_000_000, endedAt: null, activeTurnId: 'turn_1' },
  ],
  attendance: [
    unattended(1),
    { ...unattended(1), untilMs: 9e12 },
    { ...unattended(1), person: { id: 'prs_1', name: 'Ann' }, untilMs: 9e12 },
  ],
  turn: [
    begunTurn({ runsUntil: 9e15, shared: false }),
    {
      ...begunTurn({ runsUntil: 9e15, shared: true }),
      begun: true,
      ending: 'completed',
      refusal: 'late',
      waitUntil: 9e15,
    },
  ],
  call: [
    mintedCall({ tokenUntil: 9e15, expiresAt: 4_000_000_000 }),
    { ...mintedCall({ tokenUntil: 9e15, expiresAt: 4_000_000_000 }), turn: 'begun', replyUntil: 9e15 },
    {
      ...mintedCall({ tokenUntil: 9e15, expiresAt: 4_000_000_000 }),
      turn: 'asked',
      failing: 'voice_unavailable',
      unspoken: 3,
      unheard: 2,
      owed: true,
    },
  ],
  reply: [
    newReply({ greeting: false, early: true }),
    { ...newReply({ greeting: false, early: false }), begun: true, announced: true, ready: true },
    { ...newReply({ greeting: false, early: false }), begun: true, failing: 'voice_unavailable', ending: 'failure' },
  ],
  key: [
    { expiresAt: null, revokedAt: null, debt: null },
    { expiresAt: null, revokedAt: null, debt: { budget: 'requests', until: 9e15 } },
  ],
  workspace: [
    { inFlight: 0, max: 2 },
    { inFlight: 2, max: 2 },
  ],
  assistant: [{ voice: true }, { voice: false }],
  release: [
    { current: null, candidate: null },
    { current: 2, candidate: null },
    { current: 2, candidate: 3 },
  ],
  run: [{ attempts: 0 }, { attempts: 1 }, { attempts: 3 }],
  socket: [{ tokenUntil: 9e15, expiresAt: null, reason: null }],
  visitor: [
    { clockUntil: 9e15, refusal: null },
    { clockUntil: 0, refusal: { limit: 'minutes_per_day', until: 9e15 } },
  ],
};

t.test('whatever happens takes a row that leads where it went and refuses with its code', async (t) => {
  for (const kind of actorKinds) {
    for (const state of Object.keys(kinds[kind].machine.states)) {
      for (const context of contexts[kind]) {
        for (const question of questionsOf(kind)) {
          const answer = answerTo(kind, { state, context }, question, 1_000_000)!;
          const row = rowOf(drawingOf(kind), {
            event: question.event,
            from: state,
            to: answer.state,
            outcomes: answer.outcomes,
          });
          const code = codeOf(answer.outcomes);
          const refusal = row?.refusal ?? null;
          t.ok(
            row !== undefined && (refusal === code || (code !== null && refusal?.startsWith('('))),
            `${kind} ${state} ${question.event} ${question.when ?? ''}: ${code ?? answer.state}`,
          );
        }
      }
    }
    t.same(
      new Set(questionsOf(kind).map(({ event }) => event)),
      new Set(eventsOf(kind)),
      `${kind}: every event can be asked`,
    );
  }
});

t.test('a step takes the row of its case, also where one row is of several events', async (t) => {
  const taken = (state: string, type: string, fields: object) => {
    const context = { ...begunTurn({ runsUntil: 9e15, shared: false }), begun: true };
    const answer = decide('turn', { state, context }, { type, at: 1, ...fields });
    const row = rowOf(drawingOf('turn'), { event: type, from: state, to: answer.state, outcomes: answer.outcomes })!;
    return [row.events.length > 1, row.condition];
  };
  t.same(taken('answering', 'stop', { reason: 'aborted' }), [true, null]);
  t.same(taken('answering', 'stop', { reason: 'drain' }), [false, 'if drain']);
  t.same(taken('answering', 'stop', { reason: 'expired' }), [false, 'if expiry']);
  t.same(taken('waiting', 'stop', { reason: 'expired' }), [false, 'if expiry']);
  t.same(taken('answering', 'unstored', { fault: 'store_away' }), [false, 'if alone']);
});

/** The history of a life, as the server writes it: what refused in a row is one row. */
function historyOf(
  kind: ActorKind,
  start: Standing,
  events: readonly AnyEvent[],
): { rows: HistoryRow[]; contexts: unknown[] } {
  const rows: HistoryRow[] = [];
  const after: unknown[] = [];
  let standing = start;
  let seq = 0;
  for (const event of events) {
    const { state, context, outcomes } = decide(kind, standing, event);
    const refused = codeOf(outcomes) !== null;
    if (!refused || state !== standing.state) seq++;
    rows.push({
      seq,
      at: Math.floor(Number(event['at']) / 1000),
      event: event.type,
      from: standing.state,
      to: state,
      outcomes: [...outcomes],
      refused,
      request_id: null,
      by: null,
      count: 1,
      data: null,
      context: null,
      version: 1,
    });
    after.push(context);
    standing = { state, context };
  }
  return { rows, contexts: after };
}

t.test('folding the history of a session gives its context at every step', async (t) => {
  const expiresAt = 5000;
  const turnId = fc.constantFrom('turn_1', 'turn_2', 'turn_3');
  const happening = fc.oneof(
    fc.record({
      type: fc.constant('chat'),
      turnId,
      assistantRefusal: fc.constantFrom(null, null, 'assistant_disabled'),
    }),
    fc.record({ type: fc.constantFrom('finished', 'abort'), turnId }),
    fc.record({ type: fc.constantFrom('end', 'tick') }, {}),
  );
  const life = fc.array(fc.tuple(happening, fc.integer({ min: 0, max: 400_000 })), { maxLength: 30 });
  fc.assert(
    fc.property(life, (given) => {
      let at = 4_000_000;
      const events = given.map(([event, wait]) => ({ ...event, at: (at += wait) }));
      const { rows, contexts } = historyOf(
        'session',
        { state: 'open', context: { expiresAt, endedAt: null, activeTurnId: null } },
        events,
      );
      const steps = stepsOf(rows);
      // Equal refusals in a row are one step: of those the last counts.
      const kept = rows
        .map((_, index) => index)
        .filter(
          (index) =>
            stepsOf(rows.slice(0, index + 2)).length > stepsOf(rows.slice(0, index + 1)).length ||
            index === rows.length - 1,
        );
      const folded = contextsOf('session', steps, { expiresAt, endedAt: null });
      return JSON.stringify(folded) === JSON.stringify(kept.map((index) => contexts[index]));
    }),
    { numRuns: 300, seed: 14 },
  );
  t.pass('300 lives');
});

t.test('steps: a committed one comes once, equal refusals are counted, and each has a name', async (t) => {
  const step = (seq: number, fields: Partial<Step> = {}): Step => ({
    id: '',
    seq,
    at: 0,
    event: 'chat',
    from: 'open',
    to: 'streaming',
    outcomes: [{ type: 'turn.begun' }],
    refused: false,
    requestId: null,
    by: null,
    count: 1,
    ...fields,
  });
  const refusal = (seq: number, code = 'turn_in_progress'): Step =>
    step(seq, { from: 'streaming', refused: true, outcomes: [{ type: 'refused', code }] });
  const given = [
    step(1),
    step(1),
    refusal(1),
    refusal(1),
    refusal(1, 'assistant_disabled'),
    step(2, { event: 'finished', from: 'streaming', to: 'open' }),
    refusal(2),
  ];
  const steps = given.reduce(withStep, [] as readonly Step[]);
  t.same(
    steps.map(({ id, count }) => [id, count]),
    [
      ['1', 1],
      ['1r1', 2],
      ['1r2', 1],
      ['2', 1],
      ['2r1', 1],
    ],
  );
});

/** A turn that is aborted, as its history has it, and its contexts. */
function abortedTurn() {
  const context = begunTurn({ runsUntil: 9e15, shared: true });
  const events = ['output', 'stored', 'stop', 'sealed'].map((type, index) => ({
    type,
    at: 1000 * (index + 1),
    ...(type === 'stop' && { reason: 'aborted' }),
  }));
  const { rows, contexts: kept } = historyOf('turn', { state: 'waiting', context }, events);
  return {
    context,
    rows: rows.map((row, index): HistoryRow => ({
      ...row,
      data: events[index]!,
      context: kept[index] as Record<string, unknown>,
    })),
    kept,
  };
}

/** The same row as the feed sends it, with milliseconds. */
const seenLive = ({ request_id, by, count, data: _, version: __, ...row }: HistoryRow): Step => ({
  ...row,
  id: String(row.seq),
  at: row.at * 1000 + 7,
  requestId: request_id,
  by,
  count,
});

t.test('a turn: steps that were seen live and rows of its history are one past, each once', async (t) => {
  const { rows, kept, context } = abortedTurn();
  const live = rows.slice(2).map(seenLive);
  const steps = withRows(live, rows);
  t.same(
    steps.map(({ id, event }) => `${id} ${event}`),
    ['1 output', '2 stored', '3 stop', '4 sealed'],
  );
  t.ok(steps[2] === live[0] && steps[3] === live[1], 'what was seen stays as it is');
  t.same(live.reduce(withStep, withRows([], rows)).length, 4, 'also where the history was first');
  t.equal(withRows(live, []), live, 'a history that has nothing takes nothing away');
  const subject = { expiresAt: null, endedAt: null };
  t.same(contextsOf('turn', steps, subject), kept);
  t.same(begun('turn', steps[0], subject), context, 'the context before the first step');
  t.equal(begun('turn', live[0], subject), null, 'which is not known where the first step is not');
  // An end that the store did not take has no number; the history has the step that came after it.
  const other: Step = { ...live[1]!, event: 'unsealed', to: 'sealing' };
  t.equal(withRows([other], rows).at(-1)!.event, 'sealed', 'where they differ the history holds');
});

t.test('the path of a history, and the turn that a step names', async (t) => {
  t.same(
    (['session', 'key', 'assistant', 'turn', 'workspace', 'socket', 'visitor'] as const).map((kind) =>
      historyPath(kind, 'x_1', 'ses_1'),
    ),
    [
      '/sessions/x_1/history',
      '/keys/x_1/history',
      '/assistants/x_1/history',
      '/sessions/ses_1/turns/x_1/history',
      null,
      null,
      null,
    ],
  );
  t.equal(historyPath('turn', 'turn_1', null), null, 'a turn whose session is not known');
  const context = { expiresAt: 4_000_000_000, endedAt: null, activeTurnId: null };
  const chat = { type: 'chat', at: 1, turnId: 'turn_1', assistantRefusal: null };
  const { rows } = historyOf('session', { state: 'open', context }, [
    chat,
    { ...chat, turnId: 'turn_2' },
    { type: 'abort', at: 1, turnId: 'turn_1' },
    { type: 'finished', at: 1, turnId: 'turn_1' },
  ]);
  t.same(
    stepsOf(rows).map((step) => turnOf(step)),
    ['turn_1', null, null, 'turn_1'],
    'a refused chat begins none',
  );
});

/**
 * Cards where the page puts them, two in a row and the final ones in a row at the end, with rows of the given height.
 */
function boxesOf(cards: readonly Card[], rowHeight: number, between: number): Map<string, Box> {
  const [living, final] = [cards.filter((card) => !card.final), cards.filter((card) => card.final)];
  const height = ({ rows }: Card): number => 50 + rows.length * rowHeight;
  const boxes = new Map<string, Box>();
  let top = 0;
  const line = (row: number, own: readonly Card[], width: number, gap: number) => {
    for (const [index, card] of own.entries()) {
      const left = 40 + index * (width + gap);
      boxes.set(card.name, {
        row,
        column: left + width / 2 < 395 ? 0 : 1,
        left,
        right: left + width,
        top,
        bottom: top + height(card),
        final: card.final,
      });
    }
    top += Math.max(...own.map(height)) + 72;
  };
  for (let row = 0; row < living.length / 2; row++)
    line(row, living.slice(row * 2, row * 2 + 2), (710 - between) / 2, between);
  if (final.length > 0) line(Math.ceil(living.length / 2), final, (710 - (final.length - 1) * 16) / final.length, 16);
  return boxes;
}

type Piece = readonly [x1: number, y1: number, x2: number, y2: number];

/** The straight pieces of a path; its rounded corners lie within them. */
function pieces(path: string): Piece[] {
  const points = [...path.matchAll(/[MLQ ]?(-?[\d.]+) (-?[\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)] as const);
  return points.slice(1).map(([x, y], index) => [points[index]![0], points[index]![1], x, y]);
}

/** Whether two straight pieces run on one another for more than a crossing. */
function runTogether([ax1, ay1, ax2, ay2]: Piece, [bx1, by1, bx2, by2]: Piece): boolean {
  const common = (one: number, two: number, three: number, four: number): number =>
    Math.min(Math.max(one, two), Math.max(three, four)) - Math.max(Math.min(one, two), Math.min(three, four));
  if (ax1 === ax2 && bx1 === bx2) return Math.abs(ax1 - bx1) < 3 && common(ay1, ay2, by1, by2) > 4;
  if (ay1 === ay2 && by1 === by2) return Math.abs(ay1 - by1) < 3 && common(ax1, ax2, bx1, bx2) > 4;
  return false;
}

t.test('no arrow crosses a card, and no two run on one another, unless they lead to the same state', async (t) => {
  for (const [kind, rowHeight, between] of actorKinds.flatMap(
    (kind) =>
      [
        [kind, 25, 80],
        [kind, 23, 56],
        [kind, 41, 56],
      ] as const,
  )) {
    const { cards, arrows } = drawingOf(kind);
    const boxes = boxesOf(cards, rowHeight, between);
    const wires: Wire[] = arrows.map(({ key, from, to, row }) => ({
      key,
      from: boxes.get(from)!,
      to: boxes.get(to)!,
      y:
        boxes.get(from)!.top +
        60 +
        cards.find(({ name }) => name === from)!.rows.findIndex((one) => one.key === row) * rowHeight,
    }));
    const drawn = [...route(wires)].map(([key, path]) => ({ key, to: key.split(' ')[1], path: pieces(path) }));
    t.same(new Set(drawn.map(({ key }) => key)), new Set(arrows.map(({ key }) => key)), kind);
    for (const { key, to, path } of drawn) {
      for (const [name, { left, right, top, bottom }] of boxes) {
        const crosses = path.some(
          ([x1, y1, x2, y2]) =>
            Math.max(x1, x2) > left + 1 &&
            Math.min(x1, x2) < right - 1 &&
            Math.max(y1, y2) > top + 1 &&
            Math.min(y1, y2) < bottom - 1,
        );
        t.notOk(crosses, `${kind}: ${key} stays out of ${name}`);
      }
      const beside = drawn.filter(
        (other) => other.to !== to && other.path.some((one) => path.some((piece) => runTogether(one, piece))),
      );
      t.same(
        beside.map((other) => other.key),
        [],
        `${kind}: ${key} runs alone`,
      );
      const [, y1, x2, y2] = path.at(-1)!;
      const { left, right, top, bottom } = boxes.get(to!)!;
      t.ok(
        y1 === y2
          ? [left, right].includes(x2) && y2 > top && y2 < bottom
          : [top, bottom].includes(y2) && x2 > left && x2 < right,
        `${kind}: ${key} ends at its state`,
      );
    }
  }
});

t.test('equal events in a row that change nothing in an actor without a history are one step', async (t) => {
  const report = {
    event: 'report',
    from: 'speaking',
    to: 'speaking',
    outcomes: [{ type: 'unchanged' }],
    refused: false,
    requestId: null,
    by: null,
    count: 1,
  };
  const played = { ...report, event: 'played', to: 'listening', outcomes: [{ type: 'turn.finish' }] };
  const steps = [report, report, report, report, played, report]
    .map((step, index) => ({ ...step, seq: index + 1, at: index }))
    .reduce(withPassing, [] as readonly Step[]);
  t.match(steps, [
    { id: '1', count: 1 },
    { id: '2', seq: 4, at: 3, count: 3 },
    { id: '5', count: 1 },
    { id: '6', count: 1 },
  ]);
  t.equal(steps.length, 4);
});
