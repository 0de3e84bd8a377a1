/**
 * A store that has lived: everything it can hold, by the verbs that a server uses, and everything that can be asked of
 * it.
 */
import { installation } from '../../../src/store/records.ts';
import { auditOfWorkspaces } from '../../../src/store/records/audit.ts';
import type {
  Fence,
  FinishTurn,
  Key,
  Session,
  SignInLink,
  Store,
  TurnPlace,
  WithdrawTurn,
} from '../../../src/store/store.ts';
import { auditRow } from '../../store/contract/audit.ts';
import { attends } from '../../store/contract/desk.ts';
import {
  assistant,
  assistantTest,
  assistantVersion,
  at,
  credential,
  ids,
  key,
  message,
  page,
  remembered,
  Scene,
  sessionState,
  snapshot,
  tool,
  toolCall,
  usageQuery,
  webhook,
  workspace,
} from '../../store/fixtures.ts';

export interface Life {
  readonly scene: Scene;
  readonly keys: readonly Key[];
  readonly sessionIds: readonly string[];
  /** Turns in flight. */
  readonly flying: readonly TurnPlace[];
  /** The last step of turns, to be sent again. */
  readonly finishing: readonly FinishTurn[];
  readonly withdrawing: readonly WithdrawTurn[];
}

/** Messages enough to need several pages wherever a page is asked for. */
const longTurns = 25;
/** The key that made the session of as many turns. */
const longKeyId = ids.make('key');

export async function live(store: Store, nowMs: number): Promise<Life> {
  const scene = new Scene(store, nowMs);
  const keys = await configure(scene);
  const finishing: FinishTurn[] = [];
  const withdrawing: WithdrawTurn[] = [];
  const { now } = scene;

  const quiet = await scene.created({ metadata: { 2: 'b', 1: 'a', Ünï: '👋\u0000"\n' } });
  const ofSession = { fromSessionId: quiet.id, fromVisitorId: 'vis_1' };
  const { workspaceId, assistantId: id } = quiet;
  await store.catalog.create('assistant_test', assistantTest({ id, workspaceId }, ofSession));
  const greeted = scene.session({ messageCount: 1, channel: 'link' });
  await store.sessions.create(
    scene.createStep({ session: greeted, greeting: message(), remember: remembered(greeted.id, nowMs + 3_600_000) }),
  );
  const ended = await scene.created({ createdAt: now - 7200, machine: sessionState('ended', now + 600) });
  const odd = await scene.created({ metadata: JSON.parse('{"__proto__":"p","constructor":"c"}') });
  const expired = await scene.created({
    createdAt: now - 600,
    expiresAt: now - 1,
    machine: sessionState('expired', now - 1),
  });
  await store.sessions.save({ ...expired, lastActivityAt: now - 5 }, at(1));

  const endings = [
    ['completed', 'end', null],
    ['aborted', 'aborted', null],
    ['failed', 'error', 'api_error'],
    ['failed', 'expired', 'session_expired'],
  ] as const;
  for (const [index, [status, stopReason, errorCode]] of endings.entries()) {
    const turn = await scene.streaming(
      { remember: remembered(ids.make('turn'), nowMs + 60_000 + index, { key: `k${index}` }) },
      { createdAt: now - index * 4000 },
    );
    await turn.append(0, 'Grüße 👋');
    const partial = status === 'completed' ? 'completed' : 'partial';
    const step = turn.finishStep(
      { tail: { position: 7, text: ' und mehr' } },
      { status, stopReason, errorCode, endedAt: now - index * 1800 },
    );
    finishing.push({ ...step, message: { ...step.message, status: partial, stopReason, errorCode } });
    await store.turns.finish(finishing.at(-1)!);
  }
  const cut = await scene.streaming();
  await cut.append(0, 'Grüße 👋 und mehr');
  finishing.push(
    cut.finishStep(
      { tail: { position: 16, text: ', ungehört' }, cutAt: 7 },
      { status: 'aborted', stopReason: 'aborted' },
    ),
  );
  await store.turns.finish(finishing.at(-1)!);
  const withdrawn = await scene.streaming({
    remember: remembered(ids.make('turn'), nowMs + 60_000, { key: 'withdrawn' }),
  });
  withdrawing.push(withdrawn.withdrawStep());
  await store.turns.withdraw(withdrawing[0]!);

  const claimed = await store.webhooks.claim({
    owner: scene.owner,
    nowMs,
    leaseUntilMs: nowMs + 1000,
    limit: 2,
    skip: new Set(),
  });
  for (const [index, delivery] of claimed.entries()) {
    const result =
      index === 0
        ? ({ status: 'failed', nextAtMs: null } as const)
        : ({ status: 'pending', nextAtMs: nowMs + 5000 } as const);
    await store.webhooks.settle({ delivery, owner: scene.owner, attempts: 2, ...result });
  }
  const long = await longTalk(scene);
  const trial = await scene.created({ channel: 'console' });
  const flying = await inFlight(scene);
  const told = [
    quiet,
    greeted,
    ended,
    expired,
    odd,
    withdrawn.before,
    long,
    trial,
    ...finishing.map(({ session }) => session),
  ].map(({ id }) => id);
  return {
    scene,
    keys,
    sessionIds: [...told, ...flying.map(({ sessionId }) => sessionId)],
    flying,
    finishing,
    withdrawing,
  };
}

async function longTalk(scene: Scene): Promise<Session> {
  let session = await scene.created({ keyId: longKeyId });
  let version = 1;
  for (let count = 0; count < longTurns; count++) {
    const turn = await scene.begun(session, version);
    const step = turn.finishStep({ tail: { position: 0, text: `Answer ${count}` } });
    await scene.store.turns.finish(step);
    ({ session } = step);
    version = turn.version + 1;
  }
  return session;
}

/** A row about a workspace itself. */
const auditOf = (id: string) =>
  auditRow(auditOfWorkspaces, { objectType: 'workspace', objectId: id, inWorkspaceId: id });

const signInLink: SignInLink = {
  id: 'a digest',
  workspaceId: installation,
  operator: 'o',
  name: 'Ada',
  expiresAt: 1,
};

/** Creates the console's records: each kind in each state, and a workspace that was removed. */
async function configure({ store, workspaceId, assistantId, now, nowMs }: Scene): Promise<Key[]> {
  const { catalog } = store;
  await catalog.create('workspace', workspace({ id: workspaceId }));
  await catalog.replace('workspace', workspace({ id: workspaceId, name: 'Renamed', retentionDays: 7 }), 1);
  await catalog.create('workspace', workspace({ name: 'Empty' }));
  const removed = workspace();
  await catalog.create('workspace', removed);
  await catalog.create('assistant', assistant(removed.id));
  await catalog.create('credential', credential(removed.id), undefined, auditRow(removed.id));
  await catalog.remove('workspace', removed.id, removed.id, auditOf(removed.id));
  await catalog.create('sign_in_link', signInLink, undefined, auditRow(installation, { inWorkspaceId: null }));

  await catalog.create(
    'assistant',
    assistant(workspaceId, { id: assistantId, machine: snapshot('published', { voice: true, since: null }) }),
  );
  await catalog.create(
    'assistant',
    assistant(workspaceId, {
      voice: { provider: 'openai', name: null, voice: 'v', credentialId: 'crd_1' },
      link: null,
    }),
  );
  const versioned = assistant(workspaceId, { machine: snapshot('published', { voice: false }) });
  await catalog.create('assistant', versioned);
  const release = { current: 1, newest: 1, digest: 'digest-1', earlier: [] };
  const made = assistantVersion(versioned, 1);
  await catalog.replace('assistant', { ...versioned, release }, 1, undefined, undefined, made);
  await catalog.create('assistant', assistant(workspaceId, { machine: snapshot('disabled', { voice: false }) }));
  await catalog.create('assistant_test', assistantTest(versioned));
  await catalog.create('assistant', assistant(workspaceId, { release: null }));
  await catalog.create(
    'credential',
    credential(workspaceId, { name: 'main', sealed: new Uint8Array(Array.from({ length: 256 }, (_, byte) => byte)) }),
  );
  await catalog.create('tool', tool(workspaceId));
  await catalog.create('tool', tool(workspaceId, { deletedAt: 1_790_000_000 }));
  await catalog.create('webhook', webhook(workspaceId));
  await catalog.replace(
    'workspace',
    workspace({ id: workspaceId, name: 'Renamed', retentionDays: 7 }),
    2,
    undefined,
    auditOf(workspaceId),
  );
  const tested = auditRow(workspaceId, {
    action: 'test',
    changes: [{ path: 'link', before: { '': [1] }, after: '👋' }],
  });
  await catalog.create('audit_entry', tested);
  const keys = [
    key(workspaceId),
    key(workspaceId, { assistantIds: [assistantId], name: 'restricted' }),
    key(workspaceId, { machine: snapshot('revoked', { expiresAt: null, revokedAt: now, debt: null }), revokedAt: now }),
    key(workspaceId, {
      expiresAt: now - 10,
      machine: snapshot('expired', { expiresAt: now - 10, revokedAt: null, debt: null }),
    }),
    key(workspaceId, {
      machine: snapshot('limited', {
        expiresAt: null,
        revokedAt: null,
        debt: { budget: 'requests', until: nowMs + 30_000 },
      }),
    }),
  ];
  for (const each of keys) await catalog.create('key', each);
  await catalog.replace('key', { ...keys[0]!, name: 'turned' }, 1);
  await store.limits.takeBudgets(
    workspaceId,
    keys[0]!.id,
    [
      { budget: 'requests', ceiling: 60 },
      { budget: 'speech', ceiling: 30 },
    ],
    nowMs,
  );
  // The bucket is full again by now, and so records only the time of last use.
  await store.limits.takeBudgets(workspaceId, keys[1]!.id, [{ budget: 'requests', ceiling: 60 }], nowMs - 600_000);
  for (let count = 0; count < 9; count++)
    await store.limits.takeBudgets(workspaceId, keys[4]!.id, [{ budget: 'requests', ceiling: 3 }], nowMs);
  return [{ ...keys[0]!, name: 'turned' }, ...keys.slice(1)];
}

/** Turns in flight: begun, with output, asked to stop, and taken over. */
async function inFlight(scene: Scene): Promise<TurnPlace[]> {
  const { store, nowMs } = scene;
  const silent = await scene.streaming();
  const speaking = await scene.streaming({ remember: remembered(ids.make('turn'), nowMs + 60_000, { key: 'flying' }) });
  await speaking.append(0, 'So far 👋');
  await speaking.append(8, ', so good');
  const stopped = await scene.streaming({}, { channel: 'link' });
  await store.turns.requestStop(stopped.place, 'expired', nowMs + 600_000, nowMs);
  const orphan = await scene.streaming({ leaseUntilMs: nowMs });
  await orphan.append(0, 'cut');
  await store.turns.takeOver(orphan.place, ids.secret(), nowMs + 600_000, nowMs + 1);
  const calling = await scene.streaming();
  await calling.append(0, 'Let me see. 👋');
  const opaque = {
    origin: 'openai',
    id: 'call|0',
    call: { extra_content: { google: { thought_signature: 'CiQB+/=' } } },
    round: { reasoning_details: [{ data: 'é👋', index: 0 }] },
  };
  const running = toolCall({ id: ids.make('call'), position: 13, opaque });
  await store.turns.step({
    ...calling.place,
    fence: calling.fence,
    from: 0,
    calls: [
      running,
      toolCall({ id: ids.make('call'), position: 13, status: 'completed', output: 'shipped 👋', endedAtMs: 2000 }),
    ],
  });
  const spoken = await scene.streaming({ released: 0 });
  await spoken.append(0, 'Good 👋 day.');
  await store.turns.release(spoken.place, spoken.fence, 6);
  const hidden = await scene.streaming({ released: -1 });
  await hidden.append(0, 'Nobody knows.');
  const attended = await scene.streaming();
  await attended.append(0, 'Somebody will');
  await store.desk.attend(attends(scene, attended.step.session, 2, 'waiting', 3));
  return [silent, speaking, stopped, orphan, calling, spoken, hidden, attended].map(({ place }) => place);
}

const auditAt = async (store: Store, place: string) => (await store.catalog.list('audit_entry', place, page())).items;

/** All that can be asked without changing anything. */
export async function answers(store: Store, { scene, keys, sessionIds, flying, finishing }: Life): Promise<unknown> {
  const { workspaceId, assistantId, nowMs, now } = scene;
  const listed = async (kind: 'workspace' | 'assistant' | 'key' | 'credential' | 'tool' | 'webhook') =>
    (await store.catalog.list(kind, workspaceId, page())).items;
  const sessions = sessionIds.map(async (id) => [
    await store.sessions.read(workspaceId, id),
    (await store.sessions.messages(workspaceId, id, page())).items,
  ]);
  const turns = [
    ...flying,
    ...finishing.map(({ session, turn }) => ({ workspaceId, sessionId: session.id, turnId: turn.id })),
  ];
  const day = Math.floor(now / 86_400) * 86_400;
  const { items: assistants } = await store.catalog.list('assistant', workspaceId, page());
  return {
    catalog: [
      await listed('workspace'),
      await listed('assistant'),
      await listed('key'),
      await listed('credential'),
      await listed('tool'),
      await listed('webhook'),
    ],
    deliveries: await Promise.all(
      (await store.catalog.list('webhook', workspaceId, page())).items.map(({ id }) =>
        store.webhooks.list(workspaceId, id),
      ),
    ),
    audit: await Promise.all([workspaceId, installation, auditOfWorkspaces].map((place) => auditAt(store, place))),
    versions: [
      await store.catalog.read('workspace', workspaceId, workspaceId),
      await store.catalog.read('assistant', workspaceId, assistantId),
    ],
    keys: await Promise.all(keys.map(({ publicId }) => store.catalog.keyByPublicId(publicId))),
    slugs: await Promise.all(
      assistants.map(async ({ link }) => link?.slug && (await store.catalog.assistantBySlug(link.slug))),
    ),
    sessions: await Promise.all(sessions),
    recent: await Promise.all(sessionIds.map((id) => store.sessions.recentMessages(workspaceId, id, 1000, 200, 100))),
    listed: (await store.sessions.list(workspaceId, scene.filter(), page())).items,
    open: (
      await store.sessions.list(
        workspaceId,
        scene.filter({ assistantIds: [assistantId], status: 'open' }),
        page({ order: 'desc' }),
      )
    ).items,
    turns: await Promise.all(
      turns.map(async (place) => [
        await store.turns.read(workspaceId, place.sessionId, place.turnId),
        await store.turns.output(place),
        await store.turns.calls(place),
      ]),
    ),
    remembered: await Promise.all(
      ['again', 'k0', 'k3', 'flying', 'withdrawn'].map((name) => untilAbout(store, workspaceId, name, nowMs)),
    ),
    usage: await store.usage.read(workspaceId, usageQuery(day - 86_400, day + 2 * 86_400)),
    usageOfKey: await store.usage.read(workspaceId, usageQuery(day - 86_400, day + 2 * 86_400, { keyId: longKeyId })),
    usedAt: (await store.limits.readBudgets(workspaceId, keys, nowMs)).map(({ usedAt }) => usedAt),
  };
}

/** When a memory ends is for the store's own clock to say, and is another number by a little. */
async function untilAbout(store: Store, workspaceId: string, name: string, nowMs: number): Promise<unknown> {
  const found = await store.requests.find(workspaceId, 'key_1 /sessions', name, nowMs);
  return found && { ...found, untilMs: 0 };
}

/** Takes a turn over; resolves with the new owner's fence. */
export const takeOver = (store: Store, place: TurnPlace, nowMs: number): Promise<Fence | null> =>
  store.turns.takeOver(place, ids.secret(), nowMs + 60_000, nowMs);
