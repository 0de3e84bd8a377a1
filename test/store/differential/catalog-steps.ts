/** The calls on a store's catalog. */
import { auditOfWorkspaces } from '../../../src/store/records/audit.ts';
import type { AuditEntry, Catalog } from '../../../src/store/store.ts';
import type { Drawn } from './drawn.ts';
import { chosen, Known, publicIdOf, slugs } from './known.ts';
import type { Call } from './making.ts';
import { furnishedTests } from './test-steps.ts';

const call = (verb: keyof Catalog, args: readonly unknown[], learn?: Call['learn']): Call => ({
  verb: `catalog.${verb}`,
  args,
  timed: false,
  run: ({ catalog }) => (catalog[verb] as (...given: unknown[]) => unknown).apply(catalog, [...args]),
  ...(learn && { learn }),
});

type Make = (known: Known, drawn: Drawn) => Promise<Call> | Call;

/** The row of a change: one about a workspace is with the list of workspaces. */
function auditOf(known: Known, kind: string, workspaceId: string, drawn: Drawn): AuditEntry | undefined {
  const row = known.audit(kind === 'workspace' ? auditOfWorkspaces : workspaceId, drawn);
  return row && kind === 'workspace' ? { ...row, objectType: kind, objectId: workspaceId } : row;
}

const create: Make = (known, drawn) => {
  const kind = known.kind(drawn.which);
  const workspaceId = known.workspaceId(drawn.lasts);
  return call('create', [
    kind,
    known.record(kind, workspaceId, drawn),
    known.move(1, drawn),
    auditOf(known, kind, workspaceId, drawn),
  ]);
};

const replace: Make = async (known, drawn) => {
  const kind = known.kind(drawn.which);
  const workspaceId = known.workspaceId(drawn.lasts);
  const record = known.released(known.record(kind, workspaceId, drawn), kind, drawn);
  const version = (await known.isThere(kind, workspaceId, record.id)) ?? 1;
  return call('replace', [
    kind,
    record,
    chosen([version, version + 1, version - 1], drawn.near),
    known.move(version + 1, drawn),
    auditOf(known, kind, workspaceId, drawn),
  ]);
};

const remove: Make = (known, drawn) => {
  const { which, lasts, pick, near } = drawn;
  const workspaceId = known.workspaceId(lasts);
  // A whole workspace seldom: nothing else would last.
  const kind = near === 3 ? 'workspace' : which === 7 ? 'webhook' : known.kind(1 + (which % 3));
  const id = kind === 'workspace' ? workspaceId : known.catalogId(kind, pick);
  return call(
    'remove',
    [kind, workspaceId, id, auditOf(known, kind, workspaceId, drawn)],
    (removed: boolean) => void (removed && known.removed(id)),
  );
};

/** The counts of an assistant, in one order, since the stores have none. */
const releaseCounts: Make = (known, { lasts, pick }) => {
  const args = [known.workspaceId(lasts), known.catalogId('assistant', pick)] as const;
  return {
    verb: 'catalog.releaseCounts',
    args,
    timed: false,
    async run({ catalog }) {
      const { candidate, versions } = await catalog.releaseCounts(...args);
      return { candidate, versions: [...versions].sort(([one], [other]) => one - other) };
    },
  };
};

export const catalogSteps = {
  create,
  replace,
  remove,
  read: (known, { which, lasts, pick }) => {
    const kind = known.kind(which);
    const workspaceId = known.workspaceId(lasts);
    return call('read', [kind, workspaceId, kind === 'workspace' ? workspaceId : known.catalogId(kind, pick)]);
  },
  list: (known, { which, lasts, pick, near, flag }) => {
    const kind = known.kind(which);
    return call('list', [
      kind,
      known.workspaceId(lasts),
      {
        limit: chosen([100, 1, 2], pick),
        after: near === 0 ? null : known.catalogId(kind, pick),
        order: flag ? 'asc' : 'desc',
      },
    ]);
  },
  keyByPublicId: (known, { lasts, pick, which }) =>
    call('keyByPublicId', [publicIdOf(known.workspaceId(lasts), known.catalogId('key', pick), which)]),
  releaseCounts,
  assistantBySlug: (_, { which }) => call('assistantBySlug', [chosen(slugs, which) ?? 'none']),
} as const satisfies Record<keyof Catalog, Make>;

const firstKinds = ['workspace', 'key', 'assistant', 'webhook'] as const;

const furnish = (known: Known, workspaceId: string, which: number): Call[] =>
  firstKinds.map((kind) => call('create', [kind, known.record(kind, workspaceId, { pick: 0, which, text: '' })]));

/** A rollout of the first assistant, so that its turns count for a candidate and may halt it. */
function rollout(known: Known, workspaceId: string, which: number): Call {
  const assistant = known.record('assistant', workspaceId, { pick: 0, which, text: '' });
  const drawn = { which: 2, near: which, flag: true };
  return call('replace', [
    'assistant',
    known.released(assistant, 'assistant', drawn),
    1,
    known.move(2, { ...drawn, text: '' }),
  ]);
}

/**
 * The first steps of every life: two workspaces with a key, a webhook and an assistant each, which has a rollout, a test
 * and a run of it, and a third workspace that is removed: the steps that are drawn seldom remove any.
 */
export const furnished = (known: Known): Call[] => {
  const removed = 'wks_2_0';
  return [
    ...furnish(known, removed, 0),
    call('remove', ['workspace', removed, removed]),
    ...[0, 1].flatMap((which) => [
      ...furnish(known, known.workspaceId(which), which + 1),
      rollout(known, known.workspaceId(which), which),
      ...furnishedTests(known, which),
    ]),
  ];
};
