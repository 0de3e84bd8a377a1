/** A conversation in which every text is a canary, and every way on which one could get out is used. */
import { once } from 'node:events';
import { WebSocket } from 'ws';
import type { Owner } from '../folders.ts';
import { startServer, type ServerOptions } from '../process.ts';
import { houseAt, type Answer, type Ask, type House } from '../api/house.ts';
import { canary, canaryText, type Canary } from './canaries.ts';
import { goodAnswer, type Dialect } from './faults.ts';
import { ByteProvider } from './provider.ts';
import { Relay } from './relay.ts';

/** The canaries given to the server, by name; the key's parts are added when it is made. */
export const given = {
  ...{ secret: canaryText('secret'), operator: canaryText('operator') },
  ...{
    credential: canaryText('credential'),
    changedCredential: canaryText('changed credential'),
    oddCredential: canaryText('odd credential'),
  },
  ...{
    provider: canaryText('provider'),
    opaque: canaryText('opaque'),
    reply: canaryText('reply'),
    message: canaryText('message'),
  },
  ...{ prompt: canaryText('prompt'), model: canaryText('model'), baseUrl: canaryText('base URL') },
  ...{
    metadata: canaryText('metadata'),
    visitor: canaryText('visitor'),
    idempotencyKey: canaryText('idempotency key'),
  },
  ...{ junk: canaryText('junk'), wrongValue: canaryText('wrong value'), fieldName: canaryText('field name') },
};

export interface Scene {
  readonly house: House;
  /** The server's own URL, before the relay. */
  readonly server: string;
  readonly relay: Relay;
  readonly provider: ByteProvider;
  readonly canaries: Canary[];
  /** Assistants whose model is at the provider. */
  readonly assistants: Readonly<Record<Dialect, string>>;
  readonly key: string;
  ask(place: string, path: string, ask?: Ask): Promise<Answer>;
  console(place: string, path: string, ask?: Ask): Promise<Answer>;
}

export async function openScene(t: Owner, { env = {}, ...options }: ServerOptions = {}): Promise<Scene> {
  const relay = new Relay();
  const provider = await new ByteProvider().open(t);
  const settings = {
    PARLEY_STORE: 'memory:',
    PARLEY_LOG: 'trace',
    PARLEY_ALLOW_PRIVATE_PROVIDERS: '1',
    PARLEY_SECRET: given.secret,
    PARLEY_OPERATOR_TOKEN: given.operator,
    ...env,
  };
  const server = await startServer(t, { ...options, env: settings });
  const house = await houseAt({ ...server, url: await relay.stand(t, server.url) });
  const canaries = Object.entries(given).map(([name, text]) => canary(name, text));
  const inWorkspace = `/workspaces/${house.workspaceId}`;
  const scene = {
    ...{ house, server: server.url, relay, provider, canaries },
    ask: (place: string, path: string, ask?: Ask) => relay.during(place, () => house.ask(path, { key, ...ask })),
    console: (place: string, path: string, ask?: Ask) =>
      relay.during(place, () => house.console(inWorkspace + path, ask)),
  };
  const limits = { requests: 1_000_000 };
  const { key } = (await scene.console('the making of a key', '/keys', { body: { name: 'canary', limits } })).json;
  canaries.push(canary('key', key.split('_')[2]), canary('digest of the key', await digestOf(key)));
  const assistants = { openai: await assistantOn(scene, 'openai'), anthropic: await assistantOn(scene, 'anthropic') };
  return { ...scene, key, assistants };
}

const digestOf = async (key: string): Promise<Buffer> =>
  Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(key)));

type Console = Pick<Scene, 'console' | 'provider'>;

/** A published assistant whose credential was first given and then changed. */
async function assistantOn({ console, provider }: Console, dialect: Dialect): Promise<string> {
  const must = async (path: string, body: object, method = 'POST'): Promise<any> => {
    const { status, json, text } = await console('console', path, { method, body });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return json;
  };
  const base_url = `${provider.origin}/${given.baseUrl}`;
  const credential = await must('/credentials', {
    kind: 'model',
    provider: dialect,
    base_url,
    api_key: given.changedCredential,
  });
  await must(`/credentials/${credential.id}`, { api_key: given.credential }, 'PATCH');
  const model = { provider: dialect, name: given.model, credential_id: credential.id, system_prompt: given.prompt };
  const { id } = await must('/assistants', { name: 'A', model });
  await must(`/assistants/${id}/publish`, {});
  return id;
}

/** Everything that goes well. */
export async function converse(scene: Scene): Promise<void> {
  const { ask, console, provider } = scene;
  const headers = {
    'user-agent': given.junk,
    'x-junk': given.junk,
    cookie: `a=${given.junk}`,
    referer: `http://x/${given.junk}`,
  };
  for (const dialect of ['openai', 'anthropic'] as const) {
    provider.script = goodAnswer(dialect, given, given.reply);
    const body = {
      assistant_id: scene.assistants[dialect],
      metadata: { a: given.metadata },
      visitor: { name: given.visitor },
      junk: given.junk,
    };
    const session = await ask('sessions', `/sessions?junk=${given.junk}`, {
      headers: { ...headers, 'idempotency-key': given.idempotencyKey + dialect },
      body,
    });
    const path = `/sessions/${session.json.id}`;
    const chat = {
      headers: { ...headers, 'idempotency-key': given.idempotencyKey },
      body: { message: `Hi ${given.message}`, junk: given.junk },
    };
    const { status, headers: head, text } = await ask('streams', `${path}/chat`, chat);
    if (status !== 200 || !text.includes(given.reply)) throw new Error(`${dialect}: ${status} ${text}`);
    await ask('streams', `${path}/chat`, chat);
    await ask('streams', `${path}/turns/${head.get('x-turn-id')}/events`);
    await ask('sessions', `${path}/turns/${head.get('x-turn-id')}/abort`, { method: 'POST' });
    await ask('transcripts', `${path}/transcript`);
    await console('transcripts', `${path}/transcript`);
    for (const one of ['/sessions', path]) {
      await ask('sessions', one);
      await console('sessions', one);
    }
    for (const list of ['/assistants', '/usage']) await ask('sessions', list);
    await ask('sessions', `/assistants/${scene.assistants[dialect]}`);
    await ask('sessions', `${path}/end`, { method: 'POST' });
  }
  for (const list of ['/assistants', '/keys', '/credentials', '/usage', '']) await console('console', list);
  for (const path of ['/openapi.json', '/asyncapi.json', '/healthz', '/readyz', '/metrics']) await ask('service', path);
}

/** Everything that is refused, with canaries in what refuses it. */
export async function refuse(scene: Scene): Promise<void> {
  const { key, console, relay, house } = scene;
  const ask = (path: string, options?: Ask) => scene.ask('failures', path, options);
  const { junk, wrongValue, fieldName, message } = given;
  const almost = key.slice(0, -1) + (key.endsWith('0') ? '1' : '0');
  for (const other of [almost, key.slice(0, -7), `${key}0`, key.toUpperCase(), given.operator, given.secret])
    await ask('/sessions', { key: other });
  await ask('/sessions', { headers: { 'x-api-key': almost } });
  await ask('/sessions', {
    key: null,
    headers: { authorization: `Basic ${Buffer.from(`${key}:${junk}`).toString('base64')}` },
  });
  await relay.during('failures', () => house.console('/workspaces', { key }));
  for (const path of [
    `/${junk}`,
    `/${key}`,
    `/sessions/${key}`,
    `/sessions/${junk}`,
    `/assistants/${junk}`,
    `/sessions/${junk}/turns/${key}/events`,
  ])
    await ask(path);
  await ask(`/sessions?api_key=${key}&after=${wrongValue}`);
  await ask(`/usage?start=${wrongValue}`);
  await ask('/sessions', { method: 'POST', body: `{"message":"${message}` });
  await ask('/sessions', { method: 'POST', body: Buffer.from(`{"message":"${message}\xff"}`, 'latin1') });
  await ask('/sessions', { body: { assistant_id: wrongValue, metadata: { a: [message] } } });
  await ask('/sessions', { body: { assistant_id: scene.assistants.openai, metadata: { [fieldName]: 1 } } });
  await ask('/sessions', {
    body: { assistant_id: scene.assistants.openai },
    headers: { 'idempotency-key': wrongValue.repeat(9) },
  });
  const { id } = (await scene.ask('sessions', '/sessions', { body: { assistant_id: scene.assistants.openai } })).json;
  await ask(`/sessions/${id}/chat`, { body: { message: message.repeat(200) } });
  await ask(`/sessions/${id}/chat`, { body: { message: [message] } });
  await ask(`/sessions/${id}/turns/turn_${'0'.repeat(26)}/events`, { headers: { 'last-event-id': wrongValue } });
  const refused = { kind: 'model', provider: 'openai', api_key: `${given.oddCredential}\n\u20ac` };
  for (const body of [
    { api_key: [given.credential] },
    { kind: 'model', provider: wrongValue, base_url: `ftp://${junk}`, api_key: given.credential },
    refused,
  ]) {
    await console('failures', '/credentials', { body });
  }
}

/** Watches the actors while something runs, and resolves with the watcher's messages. */
export async function watched(t: Owner, { server, house }: Scene, run: () => Promise<void>): Promise<Buffer> {
  const relay = new Relay();
  const url = await relay.stand(t, server);
  const socket = new WebSocket(`${url.replace('http', 'ws')}/console/api/inspect`, {
    headers: { authorization: `Bearer ${house.operatorToken}` },
  });
  return relay.during('inspect', async () => {
    await once(socket, 'message');
    await run();
    socket.close();
    await once(socket, 'close');
    return relay.kept.get('inspect')!;
  });
}
