/**
 * A receiver of webhooks that remembers every event that reaches it. It refuses some, gets some too late, and some of
 * its answers are lost, each event once at most: the next wait of a delivery is longer than a run.
 */
import { createHmac } from 'node:crypto';
import { webhookHolder, openVault, type Vault } from '../../src/access/vault.ts';
import { webhookEvents } from '../../src/base/webhook-events.ts';
import type { ProviderHttp } from '../../src/providers/client.ts';
import type { Webhook } from '../../src/store/store.ts';
import type { Gate } from './clock.ts';
import type { World } from './world.ts';

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

/** The events of ends: a session may have many of the desk's, under the same name. */
const ends = webhookEvents.filter((event) => !/waiting|taken|returned/.test(event));

/** A webhook for every end. */
export function simulatedWebhook(id: string, workspaceId: string, createdAt: number, vault: Vault): Webhook {
  const url = 'https://crm.example/hook';
  const rest = { events: ends, enabled: true, createdAt, updatedAt: createdAt };
  const webhook = { id, workspaceId, url, ...rest, sealed: new Uint8Array() };
  return { ...webhook, sealed: vault.seal(webhookHolder(webhook), secret) };
}

export const vaultOf = (ids: Parameters<typeof openVault>[1]): Vault =>
  openVault('a secret of thirty-two characters', ids);

type Fate = 'answers' | 'refuses' | 'never comes' | 'answer lost';

/** Sends the requests of one process to the receiver. */
export function simulatedSending({ scheduler, history, weather }: World, gate: Gate, host: string): ProviderHttp {
  const { random } = scheduler;
  const post: ProviderHttp['post'] = ({ headers, body }, listener) => {
    const {
      'webhook-id': id,
      'webhook-timestamp': time,
      'webhook-signature': signature,
    } = headers as Record<string, string>;
    let isOpen = true;
    const fails = weather.modelErrs && !history.refused.has(id!) && random.chance(0.4);
    const fate: Fate = fails ? random.pick<Fate>(['refuses', 'never comes', 'answer lost']) : 'answers';
    if (fails) history.refused.add(id!);
    const wayMs = (): number => (weather.modelErrs ? random.delay(100, 4000) : 5);
    const answer = (): void => {
      if (!isOpen) return;
      if (fate === 'never comes') listener.failed('cut', null, '', '', '');
      else if (fate === 'refuses') listener.failed('status', 500, '', '', '');
      else listener.head('', '', { status: 204 } as never);
    };
    scheduler.after(wayMs(), () => {
      const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
      const signed = createHmac('sha256', key).update(`${id}.${time}.${body}`).digest('base64');
      if (fate !== 'never comes')
        history.receive({
          host,
          id: id!,
          body: String(body),
          isSigned: signature === `v1,${signed}`,
          isAccepted: fate !== 'refuses',
        });
      if (fate !== 'answer lost') scheduler.after(wayMs(), () => gate.enter(answer));
    });
    const nothing = (): void => {};
    const close = (): void => void (isOpen = false);
    return {
      cancel: close,
      release: close,
      outputBegan: nothing,
      outputEnded: nothing,
      hold: nothing,
      resume: nothing,
    };
  };
  const refused = (): never => {
    throw new Error('Only events are sent.');
  };
  return { now: () => scheduler.now, post, get: refused, speaksHttp2: async () => false, close: async () => {} };
}
