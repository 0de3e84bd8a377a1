/** A decision that is not stored yet is seen by no request and no watcher. */
import t from 'tap';
import { activeSnapshot, keyIdOf } from '../../src/host/keys.ts';
import { randomIds } from '../../src/base/ids.ts';
import { makeKey } from '../../src/access/keys.ts';
import { StoreUnavailable, type Catalog, type Store } from '../../src/store/store.ts';
import { key } from '../store/fixtures.ts';
import { Scene, withSteps } from './scene.ts';

/** A store whose replacements hang on demand, until they fail or are let through. */
class Hesitant {
  readonly store: Store;
  #hung: { resolve(): void; reject(error: Error): void } | null = null;
  #hang: (() => void) | null = null;

  constructor(store: Store) {
    const replace: Catalog['replace'] = async (kind, record, version) => {
      const asked = this.#hang;
      if (asked !== null) {
        this.#hang = null;
        await new Promise<void>((resolve, reject) => {
          this.#hung = { resolve, reject };
          asked();
        });
      }
      return store.catalog.replace(kind, record, version);
    };
    this.store = withSteps(store, { 'catalog.replace': replace });
  }

  /** Resolves when the next replacement hangs. */
  hangs(): Promise<void> {
    return new Promise((resolve) => (this.#hang = resolve));
  }

  fails(): void {
    this.#hung!.reject(new StoreUnavailable('The disk is full.'));
  }

  goesOn(): void {
    this.#hung!.resolve();
  }
}

interface Home {
  readonly scene: Scene;
  readonly hesitant: Hesitant;
  readonly keyText: string;
  readonly keyId: string;
}

async function home(): Promise<Home> {
  const first = await Scene.open({ turnsInFlightMax: 2 });
  const { publicId, text, digest } = makeKey(randomIds(first.clock));
  const limits = { requests: 1, speech: 1, transcriptionTokens: 1 };
  const record = key(first.workspaceId, {
    id: keyIdOf(publicId),
    publicId,
    digest,
    limits,
    machine: activeSnapshot(null),
  });
  await first.store.catalog.create('key', record);
  const hesitant = new Hesitant(first.store);
  return { scene: first.beside(hesitant.store), hesitant, keyText: text, keyId: record.id };
}

const codeOf = async (call: () => unknown): Promise<string> => {
  try {
    await call();
    return 'ok';
  } catch (error) {
    return (error as { code: string }).code;
  }
};

const keySeen = ({ scene, keyText }: Home): Promise<string> => codeOf(() => scene.host.keys.authenticate(keyText));

const assistantSeen = async ({ scene: { host, workspaceId, assistantId } }: Home): Promise<unknown> => {
  const actor = (await host.assistants.of(workspaceId, assistantId))!;
  return [
    host.assistants.refusal(actor) ?? 'converses',
    host.assistants.voiceRefusal(actor) ?? 'speaks',
    actor.record.name,
  ];
};

const workspaceSeen = async ({ scene: { host, workspaceId } }: Home): Promise<unknown> => {
  const { machine, record } = (await host.workspaces.of(workspaceId))!;
  return [(machine.context as { max: number }).max, record.turnsInFlightMax];
};

interface Change {
  readonly change: (home: Home) => Promise<unknown>;
  readonly seen: (home: Home) => Promise<unknown>;
  readonly before: unknown;
  readonly after: unknown;
  /** The event by which watchers learn of it. */
  readonly event: string;
}

const changes: Readonly<Record<string, Change>> = {
  'a key revoked': {
    change: ({ scene, keyId }) => scene.host.keys.revoke(scene.workspaceId, keyId),
    ...{ seen: keySeen, before: 'ok', after: 'revoked_api_key', event: 'revoke' },
  },
  'a key that is to expire': {
    change: ({ scene, keyId }) =>
      scene.host.keys.configure(scene.workspaceId, keyId, (record) => ({ ...record, expiresAt: 1 })),
    ...{ seen: keySeen, before: 'ok', after: 'expired_api_key', event: 'configure' },
  },
  'an assistant disabled': {
    change: ({ scene }) => scene.host.assistants.move(scene.workspaceId, scene.assistantId, 'disable', 1),
    seen: assistantSeen,
    before: ['converses', 'voice_disabled', 'Ada'],
    after: ['assistant_disabled', 'assistant_disabled', 'Ada'],
    event: 'disable',
  },
  'an assistant with a voice and another name': {
    change: ({ scene }) =>
      scene.host.assistants.configure(scene.workspaceId, scene.assistantId, (record) => ({
        ...record,
        name: 'Eve',
        channels: { ...record.channels, voice: true },
      })),
    seen: assistantSeen,
    before: ['converses', 'voice_disabled', 'Ada'],
    after: ['converses', 'speaks', 'Eve'],
    event: 'configure',
  },
  'a ceiling of turns in flight': {
    change: ({ scene }) =>
      scene.host.workspaces.configure(scene.workspaceId, (record) => ({ ...record, turnsInFlightMax: 5 })),
    ...{ seen: workspaceSeen, before: [2, 2], after: [5, 5], event: 'configure' },
  },
};

for (const [name, { change, seen, before, after, event }] of Object.entries(changes)) {
  t.test(name, async (t) => {
    const here = await home();
    t.same(await seen(here), before);
    const watched: string[] = [];
    here.scene.host.inspector.watch(
      (inspected) => void (inspected.type === 'event' && watched.push(inspected.event.type)),
    );

    const hung = here.hesitant.hangs();
    const failing = change(here);
    await hung;
    t.same(await seen(here), before, 'while the store has not answered');
    here.hesitant.fails();
    await t.rejects(failing, { message: /full/ });
    t.same(await seen(here), before, 'once the store has refused it');
    t.notOk(watched.includes(event), 'and nobody was shown it');

    const hungAgain = here.hesitant.hangs();
    const storing = change(here);
    await hungAgain;
    t.same(await seen(here), before);
    here.hesitant.goesOn();
    await storing;
    t.same(await seen(here), after, 'once it is stored');
    t.equal(watched.filter((each) => each === event).length, 1, 'and it is shown once');
  });
}

t.test('events during the store of a change are kept', async (t) => {
  const here = await home();
  const { scene, hesitant, keyId } = here;
  const { workspaces, keys } = scene.host;
  const workspace = (await workspaces.of(scene.workspaceId))!;
  let hung = hesitant.hangs();
  const ceiling = workspaces.configure(scene.workspaceId, (record) => ({ ...record, turnsInFlightMax: 1 }));
  await hung;
  t.equal(await workspaces.acquire(workspace), true, 'a slot is taken');
  hesitant.goesOn();
  await ceiling;
  t.same([workspace.machine.state, workspace.machine.context], ['full', { inFlight: 1, max: 1 }]);

  const actor = (await keys.of(scene.workspaceId, keyId))!;
  hung = hesitant.hangs();
  const renaming = keys.configure(scene.workspaceId, keyId, (record) => ({ ...record, name: 'renamed' }));
  await hung;
  for (const passed of [true, false]) t.equal((await keys.take(actor, ['requests'])).at(-1)!.passed, passed);
  hesitant.goesOn();
  await renaming;
  t.same([actor.record.name, actor.machine.state], ['renamed', 'limited'], 'the key is in debt');
  t.match(await scene.store.catalog.read('key', scene.workspaceId, keyId), {
    record: { name: 'renamed', machine: { state: 'active' } },
  });
});
