/** A server with one of everything, for requests that mean no good. */
import type { Owner } from '../folders.ts';
import { openHouse, type House, type HouseOptions } from '../api/house.ts';
import type { Edge } from './judge.ts';

export interface World {
  readonly house: House;
  readonly edge: Edge;
  readonly port: number;
  /** The ids for a path's parameters, by the segment before, and for a body's fields. */
  readonly ids: Readonly<
    Record<
      'workspaces' | 'assistants' | 'sessions' | 'turns' | 'keys' | 'credentials' | 'tools' | 'webhooks' | 'deliveries',
      string
    >
  >;
}

export async function openWorld(t: Owner, edge: Edge, { env = {}, ...options }: HouseOptions = {}): Promise<World> {
  const house = await openHouse(t, { ...options, env: { PARLEY_EDGE: edge, ...env } });
  const must = async (path: string, body: object = {}, method = 'POST'): Promise<any> => {
    const { status, json, text } = await house.console(path, { method, body });
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return json;
  };
  await must(`/workspaces/${house.workspaceId}`, { turns_in_flight_max: 10_000 }, 'PATCH');
  const assistant = await house.assistant({ visitor_fields: [{ name: 'email', type: 'email' }] });
  const session = await house.session(assistant.id);
  const stream = await house.stream(`/sessions/${session.id}/chat`, { body: { message: 'Hello' } });
  await stream.rest();
  const spare = (await must('/workspaces', { name: 'spare' })).id;
  const inSpare = `/workspaces/${spare}`;
  const keys = (await must(`${inSpare}/keys`, { name: 'spare' })).id;
  const credentials = (await must(`${inSpare}/credentials`, { kind: 'model', provider: 'openai', api_key: 'spare' }))
    .id;
  const tools = (await must(`${inSpare}/tools`, { kind: 'http', name: 'spare', url: 'https://tool.example' })).id;
  const hook = { url: 'https://hooks.example', events: ['turn.failed'] };
  const webhooks = (await must(`${inSpare}/webhooks`, hook)).id;
  const ids = {
    workspaces: spare,
    assistants: assistant.id,
    sessions: session.id,
    turns: stream.turnId,
    keys,
    credentials,
    tools,
    webhooks,
    // No event has happened there: an id of nothing.
    deliveries: webhooks.replace('whk_', 'dlv_'),
  };
  return { house, edge, port: Number(new URL(house.url).port), ids };
}
