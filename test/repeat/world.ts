/** A server with one of everything that a client may ask for again and again, and the meter in it. */
import type { Owner } from '../folders.ts';
import type { Edge } from '../hostile/judge.ts';
import { openWorld, type World } from '../hostile/world.ts';
import { linked, Visit } from '../pages/link/visits.ts';
import { provider, type Provider } from '../providers/model/provider.ts';
import { limits } from '../../src/base/limits.ts';
import { Meter } from './meter.ts';
import { linkLimitNames } from '../../src/base/link-limits.ts';

const unlimited = {
  minutes_per_day: null,
  concurrent_visitors: null,
  messages_per_visitor_per_day: null,
  messages_per_address_per_hour: null,
};

/** Assistants of links where every visitor is refused, each for another limit. */
export const refusing = linkLimitNames.map((limit) => ({ slug: `refusing-${limit.replaceAll('_', '-')}`, limit }));

export interface RepeatWorld extends World {
  readonly meter: Meter;
  readonly visit: Visit;
  /** A session and a turn of that visitor. */
  readonly visited: { readonly session: string; readonly turn: string };
  /** Spare ids for requests that use an id up. */
  readonly spares: Readonly<Record<'assistants' | 'sessions' | 'keys' | 'visited' | 'trial' | 'trialTurn', string>>;
  /**
   * An assistant that speaks and listens, one whose sessions have as many fields of visitors as can be, and one with
   * long answers.
   */
  readonly speaker: string;
  /** A session of it. */
  readonly talk: string;
  readonly asking: string;
  readonly talkative: string;
  readonly provider: Provider;
  /** A credential of its model. */
  readonly credential: string;
  /** One whose model is that provider, and one whose voice is. */
  readonly relayed: string;
  readonly relayedVoice: string;
}

/** `collects`: its garbage is collected before its memory is read. */
export async function openRepeatWorld(t: Owner, edge: Edge, collects: boolean): Promise<RepeatWorld> {
  const meter = new Meter(t, collects);
  const world = await openWorld(t, edge, {
    env: { PARLEY_LOG: 'silent', PARLEY_STORE: 'lmdb:./data', PARLEY_ALLOW_PRIVATE_PROVIDERS: '1', ...meter.env },
  });
  const { workspaceId } = world.house;
  // The highest limits that a key can have, so that more than its refusals is measured.
  const { key } = await world.house.newKey({
    limits: { requests: limits.ceilingMax, speech: limits.ceilingMax, transcription_tokens: limits.ceilingMax },
  });
  const house = { ...world.house, key };
  const voice = { voice: { provider: 'synthetic', name: 'audio_ms=300', transcription_name: 'text=hello' } };
  await linked(house, 'repeat', { limits: unlimited, channels: { voice: true, link: true, widget: true }, ...voice });
  for (const { slug, limit } of refusing) await linked(house, slug, { limits: { ...unlimited, [limit]: 0 } });
  const visit = await Visit.to(house, 'repeat');
  const session = await visit.session();
  const stream = await visit.stream(session);
  await stream.rest();
  const upstream = await provider((response) => response.end());
  t.teardown(() => upstream.close());
  const credential = async (kind: 'model' | 'voice') =>
    (
      await house.console(`/workspaces/${workspaceId}/credentials`, {
        body: { kind, provider: 'openai', base_url: upstream.baseUrl, api_key: 'k' },
      })
    ).json.id as string;
  const modelCredential = await credential('model');
  const relayed = await house.assistant({ model: { provider: 'openai', name: 'm', credential_id: modelCredential } });
  const relayedVoice = await house.assistant({
    channels: { voice: true },
    voice: { provider: 'openai', name: 'v', credential_id: await credential('voice') },
  });
  const speaker = await house.assistant({ channels: { voice: true }, ...voice });
  const asking = await house.assistant({
    visitor_fields: Array.from({ length: limits.visitorFieldsMax }, (_, at) => ({ name: `field${at}`, type: 'text' })),
  });
  const talkative = await house.assistant({ model: { provider: 'synthetic', name: 'tokens=20000,delay_ms=0' } });
  const inWorkspace = `/workspaces/${workspaceId}`;
  const spare = await house.assistant({ channels: { voice: true }, ...voice });
  const trial = (await house.console(`${inWorkspace}/assistants/${spare.id}/trials`, { body: {} })).json;
  const trialStream = await house.stream(`/console/api${inWorkspace}/sessions/${trial.id}/chat`, {
    key: house.operatorToken,
    body: { message: 'Hello' },
  });
  await trialStream.rest();
  const spares = {
    assistants: (await house.assistant()).id as string,
    sessions: (await house.session(spare.id)).id as string,
    keys: (await house.console(`/workspaces/${world.ids.workspaces}/keys`, { body: { name: 'revoked' } })).json
      .id as string,
    visited: (await visit.session()).id as string,
    trial: trial.id as string,
    trialTurn: trialStream.turnId,
  };
  return {
    ...world,
    house,
    meter,
    visit,
    visited: { session: session.id, turn: stream.turnId },
    spares,
    speaker: speaker.id,
    talk: (await house.session(speaker.id)).id,
    asking: asking.id,
    talkative: talkative.id,
    provider: upstream,
    credential: modelCredential,
    relayed: relayed.id,
    relayedVoice: relayedVoice.id,
  };
}
