/**
 * One request of each route of the console's API that changes something, with a marked text in each field for a secret
 * or for words of a conversation, and the rows that it writes in the audit.
 */
import type { Test } from 'tap';
import { countingTool } from './counting-tool.ts';
import type { Answer, House } from './house.ts';
import { openServer } from './mcp-server.ts';
import { cookieFor, fromPage, tokenOf } from './signing.ts';
import { credentialOf } from './talk.ts';
import { canary, canaryText, type Canary } from '../secrets/canaries.ts';

/** Texts that no row may have. */
export const hidden = Object.fromEntries(
  [
    ...['operator token', 'key of a provider', 'next key of a provider', 'key of a tool'],
    ...['message', 'argument', 'output', 'text of a preview', 'spoken text'],
  ].map((name) => [name, canaryText(`audit ${name}`)]),
) as Readonly<Record<string, string>>;

/** A text that a row does have: it shows that the search would find the others. */
export const prompt = canary('prompt');

interface Asked {
  readonly path: string;
  readonly body?: unknown;
  readonly cookie?: string;
}

/** Makes the records that the request needs, and returns the request. */
type Act = (scene: Scene) => Promise<Asked>;

/** The world of the acts. */
export class Scene {
  readonly t: Test;
  readonly house: House;
  readonly inside: string;
  /** Secrets that the server has made. */
  readonly made: Canary[] = [];

  constructor(t: Test, house: House) {
    this.t = t;
    this.house = house;
    this.inside = `/workspaces/${house.workspaceId}`;
  }

  /** Notes the secrets of an answer, without the ids that begin a key and a cookie. */
  learn(answer: Answer): Answer {
    const { json: body, headers } = answer;
    const texts = [
      ...[body?.signing_secret, body?.secret, body?.token, body?.url?.split('#sign-in=')[1]],
      body?.key?.split('_').at(-1),
      headers.get('set-cookie')?.match(/=[^;.]+\.([^;]+)/)?.[1],
    ];
    for (const text of texts)
      if (typeof text === 'string' && text.length >= 16) this.made.push(canary(`made ${this.made.length}`, text));
    return answer;
  }

  async post(path: string, body: unknown = {}): Promise<any> {
    const answer = this.learn(await this.house.console(path, { body }));
    if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`);
    return answer.json;
  }

  assistant = (): Promise<any> =>
    this.post(`${this.inside}/assistants`, {
      name: 'Audited',
      model: { provider: 'synthetic', name: 'tokens=3', system_prompt: prompt.bytes.toString() },
      voice: { provider: 'synthetic', name: 'audio_ms=10' },
      channels: { voice: true, link: false },
    });

  async trial(): Promise<{ readonly id: string; readonly path: string }> {
    const assistant = await this.assistant();
    const { id } = await this.post(`${this.inside}/assistants/${assistant.id}/trials`);
    return { id, path: `${this.inside}/sessions/${id}` };
  }

  /** The path of a session that a person of the desk has. */
  async taken(): Promise<string> {
    const { id } = await this.house.session((await this.house.assistant()).id);
    const path = `${this.inside}/sessions/${id}`;
    await this.post(`${path}/take`);
    return path;
  }

  /** A turn in flight of a client. */
  async streaming(): Promise<{ readonly sessionId: string; readonly turnId: string }> {
    const { id } = await this.house.assistant({ model: { provider: 'synthetic', name: 'tokens=9,hang_at=2' } });
    const session = await this.house.session(id);
    const { turnId } = await this.house.stream(`/sessions/${session.id}/chat`, {
      body: { message: hidden['message'] },
    });
    return { sessionId: session.id, turnId };
  }

  credential = (): Promise<any> =>
    credentialOf(this.house, 'openai', 'http://127.0.0.1:9/v1', hidden['key of a provider']);
  key = (): Promise<any> => this.post(`${this.inside}/keys`, { name: 'Audited' });
  webhook = (): Promise<any> => this.post(`${this.inside}/webhooks`, webhook);
  /** The path of a delivery. */
  async delivery(): Promise<string> {
    const path = `${this.inside}/webhooks/${(await this.webhook()).id}`;
    const { id } = await this.house.session((await this.house.assistant()).id);
    await this.house.ask(`/sessions/${id}/end`, { method: 'POST' });
    return `${path}/deliveries/${(await this.house.console(`${path}/deliveries`)).json.data[0].id}`;
  }
  workspace = (): Promise<any> => this.post('/workspaces', { name: 'Audited' });

  async tool(): Promise<{ readonly id: string; readonly path: string }> {
    const parameters = { type: 'object', properties: { order: { type: 'string' } } };
    const functions = [{ name: 'look_up', description: 'Looks an order up.', parameters }];
    const tool = await countingTool(this.t, this.house, { functions });
    tool.answer = (response) =>
      void response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ text: hidden['output'] }));
    return { id: tool.id, path: `${this.inside}/tools/${tool.id}` };
  }

  /** The path of a test. */
  async test(): Promise<string> {
    const path = `${this.inside}/assistants/${(await this.assistant()).id}/tests`;
    return `${path}/${(await this.post(path, scriptedTest)).id}`;
  }

  /** The path of the runs of an assistant with a test. */
  runs = async (): Promise<string> => (await this.test()).replace(/tests\/.*/, 'test-runs');

  /** A person who is signed in. */
  async person(): Promise<{ readonly id: string; readonly cookie: string; readonly signInId: string }> {
    const name = `person ${this.made.length}`;
    const { url } = await this.post('/sign-in-links', { name, role: 'viewer' });
    const cookie = await cookieFor(this.house, tokenOf(url));
    const { id } = (await this.house.console('/people?limit=100')).json.data.find((one: any) => one.name === name);
    const signIns = (await this.house.console('/sign-ins?limit=100')).json.data;
    return { id, cookie, signInId: signIns.find((one: any) => one.name === name).id };
  }
}

/** A test, which may be made of somebody's words: the audit shows none of them. */
const scriptedTest = {
  name: 'Audited',
  steps: [{ message: hidden['message'] }],
  tool_results: { look_up: [{ output: hidden['output'] }] },
};
const webhook = { url: 'http://127.0.0.1:9/hook', events: ['session.ended'] };
const at = (path: string, body?: unknown): Asked => ({ path, ...(body !== undefined && { body }) });

const ofAssistant =
  (rest: string, body?: unknown, before: readonly string[] = []): Act =>
  async (scene) => {
    const { id } = await scene.assistant();
    const path = `${scene.inside}/assistants/${id}`;
    for (const verb of before) await scene.post(`${path}/${verb}`);
    return at(path + rest, body);
  };
const ofRecord =
  (kind: 'key' | 'credential' | 'webhook', rest = '', body?: unknown): Act =>
  async (scene) =>
    at(`${scene.inside}/${kind}s/${(await scene[kind]()).id}${rest}`, body);
const ofTool =
  (rest: string, body?: unknown): Act =>
  async (scene) =>
    at((await scene.tool()).path + rest, body);
const inWorkspace =
  (rest: string, body: unknown): Act =>
  async ({ inside }) =>
    at(`${inside}/${rest}`, body);

/** The path of an assistant with two versions, on the second. */
async function twoVersions(scene: Scene): Promise<string> {
  const { id } = await scene.assistant();
  const path = `${scene.inside}/assistants/${id}`;
  await scene.post(`${path}/publish`);
  await scene.house.revise(id, { greeting: 'Changed' });
  return path;
}

/** The path of an assistant with a rollout. */
async function rolling(scene: Scene): Promise<string> {
  const path = await twoVersions(scene);
  await scene.post(`${path}/rollout`, { version: 1, percent: 10 });
  return path;
}

/** The rows of each route, by action and type of object, and its request. */
export const acts: Readonly<Record<string, readonly [rows: readonly string[], act: Act]>> = {
  'POST /sign-in': [['sign_in sign_in'], async ({ house }) => at('/sign-in', { token: house.operatorToken })],
  'POST /sign-out': [
    ['sign_out sign_in'],
    async (scene) => ({ ...at('/sign-out', {}), cookie: (await scene.person()).cookie }),
  ],
  'DELETE /sign-ins/{id}': [['delete sign_in'], async (scene) => at(`/sign-ins/${(await scene.person()).signInId}`)],
  'POST /sign-in-links': [['create sign_in_link'], async () => at('/sign-in-links', { name: 'Ada', role: 'editor' })],
  'PATCH /people/{id}': [
    ['update person'],
    async (scene) => at(`/people/${(await scene.person()).id}`, { blocked: true }),
  ],

  'POST /workspaces': [['create workspace'], async () => at('/workspaces', { name: 'Audited' })],
  'PATCH /workspaces/{w}': [
    ['update workspace'],
    async (scene) => at(`/workspaces/${(await scene.workspace()).id}`, { retention_days: 7 }),
  ],
  'DELETE /workspaces/{w}': [['delete workspace'], async (scene) => at(`/workspaces/${(await scene.workspace()).id}`)],

  'POST /workspaces/{w}/assistants': [
    ['create assistant'],
    inWorkspace('assistants', { name: 'Audited', model: { provider: 'scripted', name: 'scripted' } }),
  ],
  'PATCH /workspaces/{w}/assistants/{id}': [['update assistant'], ofAssistant('', { name: 'Renamed' })],
  'DELETE /workspaces/{w}/assistants/{id}': [['delete assistant'], ofAssistant('')],
  'POST /workspaces/{w}/assistants/{id}/publish': [['publish assistant'], ofAssistant('/publish', {})],
  'POST /workspaces/{w}/assistants/{id}/versions/{n}/restore': [
    ['restore assistant'],
    async (scene) => {
      const { id } = await scene.assistant();
      const path = `${scene.inside}/assistants/${id}`;
      await scene.post(`${path}/publish`);
      await scene.house.console(path, { method: 'PATCH', body: { greeting: 'Changed' } });
      return at(`${path}/versions/1/restore`, {});
    },
  ],
  'POST /workspaces/{w}/assistants/{id}/tests': [
    ['create test'],
    async (scene) => at(`${scene.inside}/assistants/${(await scene.assistant()).id}/tests`, scriptedTest),
  ],
  'PATCH /workspaces/{w}/assistants/{id}/tests/{test_id}': [
    ['update test'],
    async (scene) => at(await scene.test(), { repeat: 2 }),
  ],
  'DELETE /workspaces/{w}/assistants/{id}/tests/{test_id}': [['delete test'], async (scene) => at(await scene.test())],
  'POST /workspaces/{w}/assistants/{id}/test-runs': [
    ['create test_run'],
    async (scene) => at(await scene.runs(), { version: 'draft' }),
  ],
  'DELETE /workspaces/{w}/assistants/{id}/test-runs/{run_id}': [
    ['cancel test_run'],
    async (scene) => {
      const runs = await scene.runs();
      // A run that does not end by itself.
      const model = { provider: 'synthetic', name: 'tokens=9,hang_at=2' };
      await scene.house.console(runs.replace('/test-runs', ''), { method: 'PATCH', body: { model } });
      return at(`${runs}/${(await scene.post(runs, { version: 'draft' })).id}`);
    },
  ],
  'POST /workspaces/{w}/assistants/{id}/rollback': [
    ['rollback assistant'],
    async (scene) => {
      const { id } = await scene.assistant();
      await scene.post(`${scene.inside}/assistants/${id}/publish`);
      await scene.house.revise(id, { greeting: 'Changed' });
      return at(`${scene.inside}/assistants/${id}/rollback`, {});
    },
  ],
  'POST /workspaces/{w}/assistants/{id}/rollout': [
    ['rollout assistant'],
    async (scene) => at(`${await twoVersions(scene)}/rollout`, { version: 1, percent: 10 }),
  ],
  'POST /workspaces/{w}/assistants/{id}/rollout/promote': [
    ['promote assistant'],
    async (scene) => at(`${await rolling(scene)}/rollout/promote`, {}),
  ],
  'POST /workspaces/{w}/assistants/{id}/rollout/end': [
    ['end assistant'],
    async (scene) => at(`${await rolling(scene)}/rollout/end`, {}),
  ],
  'POST /workspaces/{w}/assistants/{id}/recall': [
    ['recall assistant'],
    async (scene) => at(`${await twoVersions(scene)}/recall`, {}),
  ],
  'POST /workspaces/{w}/assistants/{id}/unpublish': [
    ['unpublish assistant'],
    ofAssistant('/unpublish', {}, ['publish']),
  ],
  'POST /workspaces/{w}/assistants/{id}/disable': [['disable assistant'], ofAssistant('/disable', {}, ['publish'])],
  'POST /workspaces/{w}/assistants/{id}/enable': [
    ['enable assistant'],
    ofAssistant('/enable', {}, ['publish', 'disable']),
  ],
  'POST /workspaces/{w}/assistants/{id}/link/identity': [
    ['create_identity assistant'],
    ofAssistant('/link/identity', {}),
  ],
  'DELETE /workspaces/{w}/assistants/{id}/link/identity': [
    ['delete_identity assistant'],
    ofAssistant('/link/identity', undefined, ['link/identity']),
  ],
  'POST /workspaces/{w}/assistants/{id}/trials': [['create session'], ofAssistant('/trials', {})],

  'POST /workspaces/{w}/keys': [['create key'], inWorkspace('keys', { name: 'Audited' })],
  'PATCH /workspaces/{w}/keys/{id}': [['update key'], ofRecord('key', '', { limits: { requests: 7 } })],
  'POST /workspaces/{w}/keys/{id}/revoke': [['revoke key'], ofRecord('key', '/revoke', {})],
  // Two objects: the new key, and the old one, which ends.
  'POST /workspaces/{w}/keys/{id}/rotate': [['create key', 'rotate key'], ofRecord('key', '/rotate', {})],

  'POST /workspaces/{w}/credentials': [
    ['create credential'],
    inWorkspace('credentials', {
      ...{ kind: 'tool', base_url: 'http://127.0.0.1:9/', header: 'x-key' },
      api_key: hidden['key of a tool'],
    }),
  ],
  'PATCH /workspaces/{w}/credentials/{id}': [
    ['update credential'],
    ofRecord('credential', '', { api_key: hidden['next key of a provider'] }),
  ],
  'DELETE /workspaces/{w}/credentials/{id}': [['delete credential'], ofRecord('credential')],
  'POST /workspaces/{w}/credentials/{id}/test': [['test credential'], ofRecord('credential', '/test', {})],

  'POST /workspaces/{w}/tools': [
    ['create tool'],
    inWorkspace('tools', { kind: 'http', name: 'Audited', url: 'http://127.0.0.1:9/call' }),
  ],
  'PATCH /workspaces/{w}/tools/{id}': [['update tool'], ofTool('', { name: 'Renamed' })],
  'DELETE /workspaces/{w}/tools/{id}': [['delete tool'], ofTool('')],
  'POST /workspaces/{w}/tools/{id}/rotate-secret': [['rotate_secret tool'], ofTool('/rotate-secret', {})],
  'POST /workspaces/{w}/tools/{id}/test': [
    ['test tool'],
    ofTool('/test', { name: 'look_up', arguments: { order: hidden['argument'] } }),
  ],
  'POST /workspaces/{w}/tools/{id}/refresh': [
    ['refresh tool'],
    async (scene) => {
      const { url } = await openServer(scene.t, 'legacy', {});
      const { id } = await scene.post(`${scene.inside}/tools`, { kind: 'mcp', name: 'Server', url });
      return at(`${scene.inside}/tools/${id}/refresh`, {});
    },
  ],

  'POST /workspaces/{w}/webhooks': [['create webhook'], inWorkspace('webhooks', webhook)],
  'PATCH /workspaces/{w}/webhooks/{id}': [['update webhook'], ofRecord('webhook', '', { enabled: false })],
  'DELETE /workspaces/{w}/webhooks/{id}': [['delete webhook'], ofRecord('webhook')],
  'POST /workspaces/{w}/webhooks/{id}/deliveries/{delivery_id}/retry': [
    ['retry webhook'],
    async (scene) => at(`${await scene.delivery()}/retry`, {}),
  ],

  'POST /workspaces/{w}/sessions/{id}/chat': [
    ['message session'],
    async (scene) => at(`${(await scene.trial()).path}/chat`, { message: hidden['message'] }),
  ],
  'POST /workspaces/{w}/sessions/{id}/call-tokens': [
    ['call session'],
    async (scene) => at(`${(await scene.trial()).path}/call-tokens`, {}),
  ],
  'POST /workspaces/{w}/sessions/{id}/take': [
    ['take session'],
    async ({ house, inside }) =>
      at(`${inside}/sessions/${(await house.session((await house.assistant()).id)).id}/take`, {}),
  ],
  ...Object.fromEntries(
    [
      ['messages', 'message session', { text: hidden['message'] }],
      ['return', 'return session', {}],
      ['release', 'release session', {}],
    ].map(([verb, row, body]): [string, [string[], Act]] => [
      `POST /workspaces/{w}/sessions/{id}/${verb as string}`,
      [[row as string], async (scene) => at(`${await scene.taken()}/${verb as string}`, body)],
    ]),
  ),
  // The turn in flight ends with its session, which is one change.
  'POST /workspaces/{w}/sessions/{id}/end': [
    ['end session'],
    async (scene) => at(`${scene.inside}/sessions/${(await scene.streaming()).sessionId}/end`, {}),
  ],
  'POST /workspaces/{w}/sessions/{id}/turns/{turn_id}/abort': [
    ['abort turn'],
    async (scene) => {
      const { sessionId, turnId } = await scene.streaming();
      return at(`${scene.inside}/sessions/${sessionId}/turns/${turnId}/abort`, {});
    },
  ],
  'DELETE /workspaces/{w}/sessions/{id}': [['erase session'], async (scene) => at((await scene.trial()).path)],
  'DELETE /workspaces/{w}/visitors/{visitor_id}': [
    ['erase visitor'],
    async ({ inside }) => at(`${inside}/visitors/vis_nobody`),
  ],
};

/** Routes that change nothing although they are no GET, with the reason, and their requests. */
export const unaudited: Readonly<Record<string, readonly [reason: string, act: Act]>> = {
  'POST /workspaces/{w}/assistants/{id}/preview': [
    'fills texts that it does not store',
    async (scene) => {
      const assistant = await scene.assistant();
      const { id } = await scene.post(`${scene.inside}/assistants/${assistant.id}/trials`);
      const body = { session_id: id, greeting: hidden['text of a preview'] };
      return at(`${scene.inside}/assistants/${assistant.id}/preview`, body);
    },
  ],
  'POST /workspaces/{w}/assistants/{id}/speech': [
    'speaks a text that it does not store',
    ofAssistant('/speech', { text: hidden['spoken text'] }),
  ],
};

const rowsOf = async ({ house }: Scene): Promise<any[]> => (await house.console('/audit?limit=100')).json.data;

/** Takes an act: the new rows in the audit, by action and type of object, oldest first. */
export async function rowsBy(scene: Scene, route: string, act: Act): Promise<string[]> {
  const { house } = scene;
  const { path, body, cookie } = await act(scene);
  const [newest] = await rowsOf(scene);
  const [method] = route.split(' ') as [string];
  const headers = cookie === undefined ? fromPage : { ...fromPage, cookie };
  const sent = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
  const response = await fetch(`${house.url}/console/api${path}`, {
    ...sent,
    headers: {
      ...headers,
      ...(cookie === undefined && path !== '/sign-in' && { authorization: `Bearer ${house.operatorToken}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`${route} is ${response.status}: ${text}`);
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
  scene.learn({
    ...response,
    status: response.status,
    headers: response.headers,
    text,
    json: isJson ? JSON.parse(text) : undefined,
  });
  const rows = await rowsOf(scene);
  const fresh =
    newest === undefined
      ? rows
      : rows.slice(
          0,
          rows.findIndex(({ id }) => id === newest.id),
        );
  return fresh.reverse().map((row) => `${row.action} ${row.object_type}`);
}
