/** A workspace with everything in it that a workspace can have. */
import type { Owner } from '../folders.ts';
import { inexhaustible, type House } from '../api/house.ts';

export interface Ids {
  readonly workspace: string;
  readonly assistant: string;
  readonly session: string;
  readonly turn: string;
  readonly keyId: string;
  readonly credential: string;
  readonly voiceCredential: string;
  readonly tool: string;
  readonly webhook: string;
  readonly delivery: string;
}

export interface Tenant {
  readonly name: string;
  readonly key: string;
  /** The session's turn is in flight, and says no more. */
  readonly ids: Ids;
}

export async function openTenant(t: Owner, house: House, name: string): Promise<Tenant> {
  const must = async (path: string, body: object = {}): Promise<any> => {
    const { status, json, text } = await house.console(path, { method: 'POST', body });
    if (status >= 300) throw new Error(`POST ${path}: ${status} ${text}`);
    return json;
  };
  const workspace = (await must('/workspaces', { name })).id;
  const inside = `/workspaces/${workspace}`;
  const credentialOf = async (kind: string) =>
    (await must(`${inside}/credentials`, { kind, provider: 'openai', api_key: `secret of ${name}` })).id;
  const tool = (await must(`${inside}/tools`, { kind: 'client', name })).id;
  const hook = { url: 'https://hooks.example', events: ['session.ended'] };
  const webhook = (await must(`${inside}/webhooks`, hook)).id;
  const [credential, voiceCredential] = [await credentialOf('model'), await credentialOf('voice')];
  const model = { provider: 'synthetic', name: 'tokens=5,hang_at=1' };
  const assistant = (await must(`${inside}/assistants`, { name, model, greeting: `Welcome to ${name}` })).id;
  await must(`${inside}/assistants/${assistant}/publish`);
  const { id: keyId, key } = await must(`${inside}/keys`, { name, limits: inexhaustible });
  await must(`${inside}/keys/${(await must(`${inside}/keys`, { name: 'revoked' })).id}/revoke`);
  const session = (await house.ask('/sessions', { key, body: { assistant_id: assistant, metadata: { of: name } } }))
    .json.id;
  const stream = await house.stream(`/sessions/${session}/chat`, { key, body: { message: `I am ${name}` } });
  for (let event = await stream.next(); event?.event !== 'message.delta'; event = await stream.next());
  t.teardown(async () => stream.leave());
  return {
    name,
    key,
    ids: {
      workspace,
      assistant,
      session,
      turn: stream.turnId,
      keyId,
      credential,
      voiceCredential,
      tool,
      webhook,
      // No event has happened: an id of nobody.
      delivery: webhook.replace('whk_', 'dlv_'),
    },
  };
}
