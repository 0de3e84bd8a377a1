/** The calls on tests of assistants, their runs and the results of these (contract 21), and their erasure. */
import { ownIdOf, resultKey, testKey } from '../../../src/store/records/tests.ts';
import { takeStep } from '../../../src/store/steps.ts';
import type { AssistantTest, Erasure, Session, TestResult, TestRun } from '../../../src/store/store.ts';
import { assistant, assistantTest, snapshot, testRun } from '../fixtures.ts';
import type { Drawn } from './drawn.ts';
import { chosen, Known, picked } from './known.ts';
import type { Call } from './making.ts';

type Make = (known: Known, drawn: Drawn) => Promise<Call> | Call;

const kinds = ['assistant_test', 'test_run', 'test_result'] as const;

const onCatalog = (verb: 'create' | 'replace' | 'remove' | 'list', args: readonly unknown[]): Call => ({
  verb: `catalog.${verb}`,
  args,
  timed: false,
  run: ({ catalog }) => (catalog[verb] as (...given: unknown[]) => unknown).apply(catalog, [...args]),
});

/** An assistant in each of the two workspaces: with few ids, records meet. */
const ofAssistant = (known: Known, { lasts }: Drawn) => {
  const workspaceId = known.workspaceId(lasts);
  return assistant(workspaceId, { id: known.catalogId('assistant', 0) });
};

const test = (known: Known, drawn: Drawn, fromSessionId: string | null = null): AssistantTest => {
  const of = ofAssistant(known, drawn);
  return assistantTest(of, { id: testKey(of.id, `tst_${drawn.pick % 2}`), name: drawn.text, fromSessionId });
};

const run = (known: Known, drawn: Drawn, sessionIds: readonly string[] | null = null): TestRun => {
  const of = ofAssistant(known, drawn);
  const testIds = [ownIdOf(test(known, drawn))];
  return testRun(of, {
    id: testKey(of.id, `run_${drawn.pick % 2}`),
    plan: sessionIds === null ? { kind: 'tests', testIds, all: true, repeat: null } : { kind: 'replay', sessionIds },
  });
};

const result = (known: Known, drawn: Drawn): TestResult => {
  const { assistantId, workspaceId, ...of } = run(known, drawn);
  const id = resultKey({ assistantId, ...of }, drawn.near);
  return { id, workspaceId, assistantId, sessionIds: [drawn.text], outcome: null };
};

/** A test and a run of it, in one of the two workspaces. */
export function furnishedTests(known: Known, workspace: number): Call[] {
  const drawn = {
    verb: 'testStep',
    pick: 0,
    which: 0,
    near: 0,
    lasts: workspace,
    text: '',
    flag: false,
    alive: true,
  } as const;
  return [
    onCatalog('create', ['assistant_test', test(known, drawn)]),
    onCatalog('create', ['test_run', run(known, drawn)]),
  ];
}

const idOf = (known: Known, drawn: Drawn, kind: (typeof kinds)[number]): string =>
  ({ assistant_test: test, test_run: run, test_result: result })[kind](known, drawn).id;

/** The id of a session, which may be in the other workspace or gone. */
const sessionId = (known: Known, { pick }: Drawn): string => picked(known.sessions, pick)?.id ?? 'ses_none';

export const eraseRecord: Make = (known, drawn) => {
  const { workspaceId } = ofAssistant(known, drawn);
  const erasure: Erasure = { workspaceId, kind: 'visitor', id: `vis_${drawn.which % 2}` };
  const kind = chosen(kinds, drawn.near);
  const args = [erasure, kind, idOf(known, drawn, kind)] as const;
  return { verb: 'eraseRecord', args, timed: false, run: (store) => takeStep(store, 'eraseRecord', args) };
};

const createSession: Make = (known, drawn) => {
  const { workspaceId, assistantId, id } = run(known, drawn);
  const session: Session = {
    id: known.id('ses', drawn.which),
    ...{ workspaceId, assistantId, channel: 'test', visitor: {}, metadata: {}, maxCallSeconds: 60 },
    createdAt: known.now,
    expiresAt: known.now + 60,
    lastActivityAt: known.now,
    messageCount: 0,
    machine: snapshot('open', {}),
  };
  const args = [{ session, greeting: null, remember: null, run: id, nowMs: known.nowMs }];
  const learn = ({ outcome }: { readonly outcome: string }): void =>
    void (outcome === 'created' && known.sessions.push(session));
  return { verb: 'createSession', args, timed: true, run: (store) => takeStep(store, 'createSession', args), learn };
};

/** A change of a run, or its removal at a version; its creation if it is not there. */
const changeRun: Make = async (known, drawn) => {
  const record = run(known, drawn);
  const version = await known.isThere('test_run', record.workspaceId, record.id);
  if (version === null) return onCatalog('create', ['test_run', record]);
  const basis = drawn.alive ? version : version + 1;
  return drawn.flag
    ? onCatalog('replace', ['test_run', { ...record, done: drawn.which }, basis])
    : onCatalog('remove', ['test_run', record.workspaceId, record.id, undefined, basis]);
};

const steps: readonly Make[] = [
  (known, drawn) => onCatalog('create', ['assistant_test', test(known, drawn)]),
  (known, drawn) => onCatalog('create', ['assistant_test', test(known, drawn, sessionId(known, drawn))]),
  (known, drawn) => onCatalog('create', ['test_run', run(known, drawn, drawn.flag ? [sessionId(known, drawn)] : null)]),
  (known, drawn) => onCatalog('create', ['test_result', result(known, drawn)]),
  createSession,
  changeRun,
  changeRun,
  (known, drawn) =>
    onCatalog('list', [
      chosen(kinds, drawn.near),
      known.workspaceId(drawn.lasts),
      { limit: chosen([100, 1], drawn.pick), after: null, order: drawn.flag ? 'asc' : 'desc' },
    ]),
];

export const testStep: Make = (known, drawn) => chosen(steps, drawn.which)(known, drawn);
