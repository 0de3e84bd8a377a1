import { once } from 'node:events';
import { join } from 'node:path';
import t from 'tap';
import { WheelClock } from '../../src/base/clock.ts';
import { errors, type ErrorName } from '../../src/base/errors.ts';
import { randomIds } from '../../src/base/ids.ts';
import { lmdbStore } from '../../src/store/lmdb.ts';
import type { Session } from '../../src/store/store.ts';
import { temporaryFolder } from '../folders.ts';
import { edges, openHouse, type Answer, type House } from './house.ts';
import { rawAsk } from './raw.ts';
import {
  isRefused,
  limitedFor,
  missingField,
  refusals,
  unencryptedUrl,
  unrated,
  unreadableHeader,
  wrongField,
  type Refusal,
} from './refusal.ts';

/** Sessions that no request can bring about in a test's time. */
interface Stored {
  readonly expired: string;
  readonly forgotten: string;
  /** A row in a state that its machine does not have. */
  readonly damaged: string;
}

/** Fills an empty folder with a workspace, an assistant and the sessions. */
async function store(folder: string): Promise<Stored> {
  const ids = randomIds(new WheelClock());
  const now = Math.floor(Date.now() / 1000);
  const day = 86_400;
  const workspaceId = ids.make('wks');
  const assistantId = ids.make('asst');
  const opened = lmdbStore(join(folder, 'data'));
  await opened.open(now * 1000);
  await opened.catalog.create('workspace', {
    id: workspaceId,
    name: 'w',
    retentionDays: 30,
    turnsInFlightMax: 10,
    createdAt: now,
    updatedAt: now,
  });
  const model = {
    provider: 'scripted',
    name: 'scripted',
    credentialId: null,
    systemPrompt: null,
    temperature: null,
    outputTokensMax: null,
  };
  await opened.catalog.create('assistant', {
    id: assistantId,
    workspaceId,
    name: 'a',
    description: null,
    greeting: null,
    channels: { voice: false, link: false, widget: false },
    visitorFields: [],
    maxCallSeconds: 60,
    model,
    voice: null,
    link: null,
    createdAt: now,
    updatedAt: now,
    machine: { version: 1, state: 'published', context: { voice: false } },
  });
  const session = async (createdAt: number, maxCallSeconds: number, state: string): Promise<string> => {
    const id = ids.make('ses');
    const expiresAt = createdAt + maxCallSeconds;
    const machine = { version: 1, state, context: { expiresAt, endedAt: null, activeTurnId: null } };
    const fields = { visitor: {}, metadata: {}, channel: 'api', messageCount: 0, lastActivityAt: createdAt } as const;
    const record: Session = { id, workspaceId, assistantId, createdAt, expiresAt, maxCallSeconds, machine, ...fields };
    await opened.sessions.create({ session: record, greeting: null, remember: null, nowMs: now * 1000 });
    return id;
  };
  const stored = {
    expired: await session(now - 100, 60, 'open'),
    forgotten: await session(now - 31 * day, 40 * day, 'open'),
    damaged: await session(now, 3600, 'nonsense'),
  };
  await opened.close();
  return stored;
}

interface World extends Stored {
  readonly house: House;
  readonly assistant: { id: string };
  readonly session: { id: string };
  /** A session whose turn never ends by itself. */
  readonly busy: { id: string };
}

interface Case {
  readonly refusal: Refusal;
  ask(world: World): Promise<Answer>;
}

const chatOn = ({ house }: World, session: string, message: unknown = 'Hi') =>
  house.ask(`/sessions/${session}/chat`, { body: { message } });

async function chatWith(world: World, fields: object, verb?: string): Promise<Answer> {
  const { house } = world;
  const assistant = await house.assistant(fields);
  const session = await house.session(assistant.id);
  if (verb !== undefined)
    await house.console(`/workspaces/${house.workspaceId}/assistants/${assistant.id}/${verb}`, { method: 'POST' });
  return chatOn(world, session.id);
}

async function speakWith({ house }: World, fields: object, text = 'Hi'): Promise<Answer> {
  const { id } = await house.assistant(fields);
  return house.ask('/speech', { body: { assistant_id: id, text } });
}

const createWith = ({ house, assistant }: World, body: object) =>
  house.ask('/sessions', { body: { assistant_id: assistant.id, ...body } });

/** Every row of the table and how a client meets it, or the reason why none can here. */
const cases: Record<ErrorName, Case | string> = {
  missing_api_key: { refusal: refusals.missingKey, ask: ({ house }) => house.ask('/assistants', { key: null }) },
  invalid_api_key: {
    refusal: refusals.invalidKey,
    ask: ({ house }) => house.ask('/assistants', { key: house.key.slice(0, -1) }),
  },
  revoked_api_key: {
    refusal: refusals.revokedKey,
    async ask({ house }) {
      const { id, key } = await house.newKey();
      await house.console(`/workspaces/${house.workspaceId}/keys/${id}/revoke`, { method: 'POST' });
      return house.ask('/assistants', { key });
    },
  },
  expired_api_key: {
    refusal: refusals.expiredKey,
    ask: async ({ house }) => house.ask('/assistants', await house.newKey({ expires_at: 1 })),
  },
  invalid_token: {
    refusal: refusals.invalidToken,
    ask: ({ house }) => house.ask('/console/api/sign-in', { key: null, body: { token: 'none' } }),
  },
  site_not_permitted: 'it answers a site that an assistant does not list; the tests of the link cover it',
  assistant_not_permitted: {
    refusal: refusals.notPermitted,
    ask: async ({ house, assistant }) =>
      house.ask(`/assistants/${assistant.id}`, await house.newKey({ assistant_ids: [] })),
  },
  role_not_permitted: 'it is met with a role other than the operator token: roles.test.ts covers it',
  tests_not_passed: 'the console alone answers it: test-runs.test.ts covers it',
  draft_changed: 'the console alone answers it: drafts.test.ts covers it',
  version_not_found: 'the console alone answers it: rollback.test.ts covers it',
  route_not_found: { refusal: refusals.noRoute, ask: ({ house }) => house.ask('/nowhere') },
  assistant_not_found: { refusal: refusals.noAssistant, ask: ({ house }) => house.ask('/assistants/asst_none') },
  session_not_found: { refusal: refusals.noSession, ask: ({ house }) => house.ask('/sessions/ses_none') },
  model_not_found: 'it is met under /v1/ alone, in the shape of that API: openai.test.ts covers it',
  turn_not_found: {
    refusal: refusals.noTurn,
    ask: ({ house, session }) => house.ask(`/sessions/${session.id}/turns/turn_none/events`),
  },
  assistant_not_published: { refusal: refusals.notPublished, ask: (world) => chatWith(world, {}, 'unpublish') },
  assistant_disabled: { refusal: refusals.disabled, ask: (world) => chatWith(world, {}, 'disable') },
  session_ended: {
    refusal: refusals.ended,
    async ask(world) {
      const { id } = await world.house.session(world.assistant.id);
      await world.house.ask(`/sessions/${id}/end`, { method: 'POST' });
      return chatOn(world, id);
    },
  },
  session_expired: { refusal: refusals.expired, ask: (world) => chatOn(world, world.expired) },
  session_taken: 'The console meets it: test/api/desk/takes.test.ts.',
  turn_in_progress: { refusal: refusals.inProgress, ask: (world) => chatOn(world, world.busy.id) },
  voice_disabled: { refusal: refusals.voiceDisabled, ask: (world) => speakWith(world, {}) },
  unreadable_header: {
    refusal: unrated(unreadableHeader('Authorization')),
    ask: ({ house }) => house.ask('/assistants', { key: null, headers: { authorization: 'Basic eDp5' } }),
  },
  insecure_sign_in: {
    refusal: refusals.insecureSignIn,
    ask: ({ house }) =>
      rawAsk(house.url, '/console/api/sign-in', {
        method: 'POST',
        headers: { Host: 'parley.example', 'Content-Length': '13' },
        body: '{"token":"x"}',
      }),
  },
  headers_too_large: 'uWebSockets.js answers it itself; heads.test.ts covers it on the other edge',
  different_keys: {
    refusal: refusals.differentKeys,
    ask: ({ house }) => house.ask('/assistants', { headers: { 'x-api-key': 'another' } }),
  },
  content_type: {
    refusal: unrated(refusals.notJson),
    ask: ({ house }) =>
      house.console('/workspaces', { headers: { 'content-type': 'text/plain' }, body: { name: 'a' } }),
  },
  malformed_json: {
    refusal: refusals.malformedJson,
    ask: ({ house }) => house.ask('/sessions', { body: '{"assistant_id":' }),
  },
  body_too_large: {
    refusal: refusals.tooLarge,
    ask: ({ house }) => house.ask('/sessions', { body: `"${'x'.repeat(256 * 1024)}"` }),
  },
  body_timeout: 'it takes half a minute; the contract of the edges, where the bound is set lower, covers it',
  not_an_object: { refusal: refusals.notAnObject, ask: ({ house }) => house.ask('/sessions', { body: '[]' }) },
  missing_field: { refusal: missingField('assistant_id'), ask: ({ house }) => house.ask('/sessions', { body: {} }) },
  invalid_field: { refusal: wrongField('metadata.a'), ask: (world) => createWith(world, { metadata: { a: 1 } }) },
  text_only: "OpenAI's API alone answers with it: test/api/openai-history.test.ts",
  not_supported: "OpenAI's API alone answers with it: test/api/openai-wishes.test.ts",
  unencrypted_url: {
    refusal: unrated(unencryptedUrl('base_url')),
    ask: ({ house }) =>
      house.console(`/workspaces/${house.workspaceId}/credentials`, {
        body: { kind: 'model', provider: 'openai', base_url: 'http://api.example.com/v1', api_key: 'k' },
      }),
  },
  idempotency_mismatch: {
    refusal: refusals.mismatch,
    async ask({ house, assistant }) {
      const headers = { 'idempotency-key': 'one' };
      await house.ask('/sessions', { headers, body: { assistant_id: assistant.id } });
      return house.ask('/sessions', { headers, body: { assistant_id: assistant.id, metadata: { other: 'yes' } } });
    },
  },
  missing_visitor_fields: {
    refusal: {
      ...wrongField(''),
      code: 'missing_visitor_fields',
      message: 'Required visitor fields are missing: `visitor.email`, `visitor.age`.',
    },
    async ask({ house }) {
      const fields = [
        ['email', 'email'],
        ['age', 'number'],
      ].map(([name, type]) => ({ name, type, required: true }));
      const { id } = await house.assistant({ visitor_fields: fields });
      return house.ask('/sessions', { body: { assistant_id: id } });
    },
  },
  message_too_long: {
    refusal: refusals.messageTooLong,
    ask: (world) => chatOn(world, world.session.id, 'x'.repeat(8001)),
  },
  text_too_long: { refusal: refusals.textTooLong, ask: (world) => speakWith(world, {}, 'x'.repeat(1001)) },
  invalid_range: { refusal: refusals.invalidRange, ask: ({ house }) => house.ask('/usage?start=2&end=1') },
  assistant_unavailable: {
    refusal: refusals.unavailable,
    ask: (world) => chatWith(world, { model: { provider: 'synthetic', name: 'fail_at=0' } }),
  },
  voice_unavailable: {
    refusal: refusals.voiceUnavailable,
    ask: (world) => speakWith(world, { channels: { voice: true }, voice: { provider: 'openai' } }),
  },
  service_unavailable: {
    // The last one: the server drains from here on, for as long as the turn runs.
    refusal: refusals.draining,
    async ask(world) {
      const { child, stdout } = world.house;
      child.kill('SIGTERM');
      while (!stdout().includes('"draining"')) await once(child.stdout!, 'data');
      return createWith(world, {});
    },
  },
  api_error: {
    refusal: refusals.fault,
    ask: ({ house, damaged }) => house.ask(`/sessions/${damaged}/end`, { method: 'POST' }),
  },
  rate_limited: {
    // An empty bucket that fills in a minute: the second request of a ceiling of one is a minute early and a debt of
    // none.
    refusal: limitedFor(60),
    async ask({ house }) {
      const { key } = await house.newKey({ limits: { requests: 1 } });
      await house.ask('/assistants', { key });
      return house.ask('/assistants', { key });
    },
  },
};

const last: ErrorName = 'service_unavailable';

t.test('every row of the table is tested', async (t) => {
  t.same(Object.keys(cases).sort(), Object.keys(errors).sort());
  for (const [name, one] of Object.entries(cases)) {
    if (typeof one === 'string') continue;
    const row = errors[name as ErrorName];
    t.same([row.code, row.status], [one.refusal.code, one.refusal.status], `${name} is held to its own row`);
  }
});

for (const edge of edges) {
  t.test(`every error over HTTP on ${edge}`, async (t) => {
    const folder = await temporaryFolder(t);
    const stored = await store(folder);
    const house = await openHouse(t, {
      embedded: true,
      folder,
      env: { PARLEY_EDGE: edge, PARLEY_STORE: 'lmdb:./data', PARLEY_LOG: 'info' },
    });
    const assistant = await house.assistant();
    const endless = await house.assistant({ model: { provider: 'synthetic', name: 'hang_at=1' } });
    const [session, busy] = await Promise.all([house.session(assistant.id), house.session(endless.id)]);
    const turn = await house.stream(`/sessions/${busy.id}/chat`, { body: { message: 'Hi' } });
    const world = { ...stored, house, assistant, session, busy };

    const run = async (name: ErrorName): Promise<void> => {
      const one = cases[name];
      if (typeof one === 'string') return;
      isRefused(t, await one.ask(world), one.refusal, name);
    };
    for (const name of Object.keys(cases) as ErrorName[]) if (name !== last) await run(name);

    isRefused(t, await chatOn(world, stored.forgotten), refusals.noSession, 'a session past retention');
    await house.console(`/workspaces/${house.workspaceId}`, { method: 'PATCH', body: { turns_in_flight_max: 1 } });
    isRefused(t, await chatOn(world, session.id), limitedFor(1), 'every slot of the workspace taken');

    await run(last);
    isRefused(
      t,
      await house.ask('/readyz', { key: null }),
      { ...refusals.draining, rated: false, retryAfter: undefined },
      'not ready while it drains',
    );
    t.equal((await house.ask(`/sessions/${busy.id}`)).status, 200, 'reads go on being served');
    t.equal((await house.ask(`/sessions/${busy.id}/turns/${turn.turnId}/abort`, { method: 'POST' })).status, 200);
    t.same(await house.ended, { code: 0, signal: null });
  });
}
