/** Deliveries of a process to real addresses, with a store in memory (contract 17). */
import t, { type Test } from 'tap';
import { WheelClock } from '../../../src/base/clock.ts';
import { randomIds } from '../../../src/base/ids.ts';
import { openLog } from '../../../src/base/log.ts';
import { openMetrics } from '../../../src/metrics/metrics.ts';
import { Webhooks } from '../../../src/operations/webhooks.ts';
import { openVault, webhookHolder } from '../../../src/access/vault.ts';
import { providerHttp } from '../../../src/providers/client.ts';
import type { ClaimDeliveries, SettleDelivery, Webhook, WebhookDelivery } from '../../../src/store/store.ts';
import { webhook as webhookRecord } from '../../store/fixtures.ts';
import { raw, type Raw } from '../../providers/client/raw.ts';

const hourMs = 3600_000;

/** A process with one webhook at a server of the test. */
class Scene {
  /** Milliseconds by which the clock is ahead. */
  aheadMs = 0;
  webhook: Webhook | null;
  readonly rows: WebhookDelivery[] = [];
  readonly claims: ClaimDeliveries[] = [];
  readonly settled: SettleDelivery[] = [];
  readonly #leases = new Set<string>();
  readonly #waiting: (() => void)[] = [];
  readonly webhooks: Webhooks;

  constructor(t: Test, url: string) {
    const wheel = new WheelClock();
    const clock = {
      now: () => wheel.now() + this.aheadMs,
      monotonic: () => wheel.monotonic(),
      after: (delayMs: number, callback: () => void) => wheel.after(delayMs, callback),
      stop: () => wheel.stop(),
    };
    const ids = randomIds(clock);
    const vault = openVault('a secret of the test', ids);
    const blank = webhookRecord('wks_1', { url });
    this.webhook = { ...blank, sealed: vault.seal(webhookHolder(blank), 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw') };
    const http = providerHttp({ clock, allowPrivate: true });
    const metrics = openMetrics(
      () => ({}),
      () => 0,
      () => 0,
      () => ({ count: 0, seconds: 0 }),
    );
    const log = openLog('silent', clock);
    const store = { catalog: this.#catalog(), webhooks: this.#store() };
    this.webhooks = new Webhooks({ store: store as any, vault, http, clock, ids, log, metrics, tracer: null });
    t.teardown(async () => {
      await this.webhooks.stop(0);
      await http.close();
      wheel.stop();
    });
  }

  /** Adds a delivery that is due now. */
  due(over: Partial<WebhookDelivery> = {}): WebhookDelivery {
    const { id: webhookId, workspaceId } = this.webhook!;
    const id = `dlv_${this.rows.length}`;
    const body = JSON.stringify({ type: 'turn.completed', data: { id } });
    const at = { status: 'pending', attempts: 0, nextAtMs: 0, ...over } as const;
    const row: WebhookDelivery = { id, workspaceId, webhookId, type: 'turn.completed', body, ...at };
    this.rows.push(row);
    this.webhooks.wake();
    return row;
  }

  row = (id: string): WebhookDelivery => this.rows.find((row) => row.id === id)!;

  async settles(count: number): Promise<void> {
    while (this.settled.length < count) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #store() {
    return {
      claim: async (step: ClaimDeliveries) => {
        this.claims.push(step);
        const isDue = ({ id, webhookId, status, nextAtMs }: WebhookDelivery): boolean =>
          status === 'pending' && nextAtMs! <= step.nowMs && !this.#leases.has(id) && !step.skip.has(webhookId);
        const claimed = this.rows.filter(isDue);
        for (const { id } of claimed.slice(0, step.limit)) this.#leases.add(id);
        return claimed.slice(0, step.limit);
      },
      settle: async (step: SettleDelivery) => {
        const { attempts, status, nextAtMs } = step;
        const index = this.rows.findIndex(({ id }) => id === step.delivery.id);
        this.rows[index] = { ...this.rows[index]!, attempts, status, nextAtMs };
        this.#leases.delete(step.delivery.id);
        this.settled.push(step);
        for (const resolve of this.#waiting.splice(0)) resolve();
        return true;
      },
      failPending: async () => {
        for (const [index, row] of this.rows.entries())
          if (row.status === 'pending') this.rows[index] = { ...row, status: 'failed', nextAtMs: null };
      },
    };
  }

  #catalog() {
    let version = 1;
    return {
      read: async () => (this.webhook === null ? null : { record: this.webhook, version }),
      replace: async (_kind: string, record: Webhook) => ((this.webhook = record), ++version),
    };
  }
}

const answers =
  (head: string): Raw['answer'] =>
  ({ socket }) =>
    void socket.write(`HTTP/1.1 ${head}\r\ncontent-length: 0\r\n\r\n`);

t.test('a delivery is sent and delivered, and never sent again', async (t) => {
  const server = await raw(t, answers('200 OK'));
  const scene = new Scene(t, server.baseUrl);
  const { id, body } = scene.due();
  await scene.settles(1);
  t.match(scene.row(id), { status: 'delivered', attempts: 1, nextAtMs: null });
  const before = scene.claims.length;
  scene.webhooks.wake();
  while (scene.claims.length === before) await new Promise(setImmediate);
  t.equal(server.arrivals.length, 1);
  t.ok(server.arrivals[0]!.text.endsWith(`\r\n\r\n${body}`));
});

t.test('a refused delivery is due again with the same id and bytes, and marks the webhook as failing', async (t) => {
  const server = await raw(t, answers('503 Away'));
  const scene = new Scene(t, server.baseUrl);
  const { id } = scene.due();
  await scene.settles(1);
  const { nextAtMs, attempts, status } = scene.row(id);
  t.match({ status, attempts }, { status: 'pending', attempts: 1 });
  t.ok(Math.abs(nextAtMs! - Date.now() - 5000) <= 60_000, 'the first wait');
  t.type(scene.webhook!.failingSinceMs, 'number');
  server.answer = answers('204 No Content');
  scene.aheadMs = hourMs;
  scene.webhooks.wake();
  await scene.settles(2);
  t.match(scene.row(id), { status: 'delivered', attempts: 2 });
  t.equal(scene.webhook!.failingSinceMs, undefined, 'a success ends the failures');
  const [first, second] = server.arrivals.map(({ text }) => [
    /^webhook-id: (.*)$/m.exec(text)![1],
    text.split('\r\n\r\n')[1],
  ]);
  t.same(first, second);
});

t.test('410 disables the webhook and fails its waiting deliveries', async (t) => {
  const server = await raw(t, answers('410 Gone'));
  const scene = new Scene(t, server.baseUrl);
  const later = scene.due({ nextAtMs: Number.MAX_SAFE_INTEGER });
  const gone = scene.due();
  await scene.settles(1);
  t.equal(scene.webhook!.enabled, false);
  for (const { id } of [later, gone]) t.match(scene.row(id), { status: 'failed', nextAtMs: null });
});

t.test('24 h of failures disable the webhook', async (t) => {
  const server = await raw(t, answers('500 Broken'));
  const scene = new Scene(t, server.baseUrl);
  scene.webhook = { ...scene.webhook!, failingSinceMs: Date.now() - 23 * hourMs };
  const first = scene.due();
  await scene.settles(1);
  t.equal(scene.webhook.enabled, true);
  t.equal(scene.row(first.id).status, 'pending');
  scene.aheadMs = 2 * hourMs;
  scene.webhooks.wake();
  await scene.settles(2);
  t.equal(scene.webhook.enabled, false);
  t.equal(scene.row(first.id).status, 'failed');
});

t.test('at most eight attempts to one webhook are in flight', async (t) => {
  const server = await raw(t, () => {});
  const scene = new Scene(t, server.baseUrl);
  for (let each = 0; each < 20; each++) scene.due();
  await server.reached(8);
  const before = scene.claims.length;
  scene.webhooks.wake();
  while (scene.claims.length === before) await new Promise(setImmediate);
  t.equal(server.arrivals.length, 8);
  server.answer = answers('200 OK');
  for (const { socket } of [...server.arrivals]) answers('200 OK')({ socket } as any);
  await scene.settles(20);
  t.equal(server.arrivals.length, 20, 'each once');
});

t.test('a stop lets an attempt end, and releases one that does not', async (t) => {
  const server = await raw(t, () => {});
  const scene = new Scene(t, server.baseUrl);
  const [ends, hangs] = [scene.due(), scene.due()];
  await server.reached(2);
  const stopped = scene.webhooks.stop(2000);
  const answered = server.arrivals.find(({ text }) => text.includes(`webhook-id: ${ends.id}\r`))!;
  answers('200 OK')(answered);
  await stopped;
  t.match(scene.row(ends.id), { status: 'delivered', attempts: 1 });
  t.match(scene.row(hangs.id), { status: 'pending', attempts: 0 });
  t.ok(scene.row(hangs.id).nextAtMs! <= Date.now(), 'due at once for another process');
  scene.due();
  t.equal(server.arrivals.length, 2, 'nothing is claimed after it');
});

t.test('a webhook that was deleted, or whose secret does not open, is not called', async (t) => {
  const server = await raw(t, answers('200 OK'));
  const scene = new Scene(t, server.baseUrl);
  scene.webhook = { ...scene.webhook!, sealed: new Uint8Array(40) };
  const { id } = scene.due();
  await scene.settles(1);
  t.match(scene.row(id), { status: 'pending', attempts: 1 });
  scene.webhook = null;
  scene.aheadMs = hourMs;
  const before = scene.claims.length;
  scene.webhooks.wake();
  while (scene.claims.length < before + 2) await new Promise(setImmediate);
  t.equal(server.arrivals.length, 0);
  t.equal(scene.settled.length, 1, 'its rows are gone with it');
});
