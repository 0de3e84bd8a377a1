/**
 * The connections to a single Redis, or to whichever server an address leads to now: a name or a proxy may have another
 * one after a failover.
 */
import { machineTime } from '../../../base/clock.ts';
import { limits } from '../../../base/limits.ts';
import { StoreRefused } from '../../store.ts';
import { ReplicaAck } from '../replica-ack.ts';
import { InFlightReplies } from '../in-flight-replies.ts';
import { textOfReply } from '../reply.ts';
import { isDemoted, refusalOf, sendOn, single, type Arguments, type Client } from './client.ts';

/**
 * The first connection of a client, which itself would retry for ever after any error; and the present reason of its
 * loss.
 */
class Opening {
  trouble: string | null = null;
  readonly #client: Client;
  #refuse: (refusal: StoreRefused) => void = () => {};

  constructor(client: Client) {
    this.#client = client;
    client.on('error', (error: NodeJS.ErrnoException) => {
      const words = refusalOf(error);
      this.trouble = words ?? error.code ?? null;
      if (words !== null) this.#refuse(new StoreRefused(words, { cause: error }));
    });
    client.on('ready', () => (this.trouble = null));
  }

  async connect(): Promise<void> {
    if (this.#client.isOpen) return;
    const refused = new Promise<never>((_, reject) => (this.#refuse = reject));
    await Promise.race([this.#client.connect(), refused]);
    this.#refuse = () => {};
  }
}

/**
 * Returns a listener to errors that drops the connections once their server is no primary any more. A failover may
 * leave them open: the server still answers on them, but refuses every write. The clients connect anew by
 * themselves.
 */
function droppingDemoted(clients: readonly Client[]): (error: Error) => void {
  let droppedAt = -Infinity;
  return ({ message }) => {
    const now = machineTime.monotonic();
    if (!isDemoted(message) || now - droppedAt < limits.redisReconnectMsMax) return;
    droppedAt = now;
    // The server itself closes a connection after QUIT, which every user may send.
    for (const client of clients) if (client.isReady) client.sendCommand(['QUIT']).catch(() => {});
  };
}

/** A member of a cluster has a part of the slots alone. One that may not be asked is believed. */
async function refuseMember(client: Client): Promise<void> {
  const info = await sendOn(client, ['CLUSTER', 'INFO']).then(textOfReply, () => '');
  if (Number(/^cluster_size:(\d+)/m.exec(info)?.[1]) > 1)
    throw new StoreRefused(
      'This Redis is a member of a cluster: its address begins with redis-cluster:// or rediss-cluster://.',
    );
}

export function connectSingle(url: string) {
  const clients = [single(url), single(url), single(url)] as const;
  const [client, waiting, listening] = clients.map((each) => each.client) as [Client, Client, Client];
  const opening = new Opening(client);
  const onError = droppingDemoted([client, waiting, listening]);
  // The client closes silent connections by its own timers, so silence is measured by the same clock.
  const owed = new InFlightReplies(machineTime, onError);
  const acknowledged = new ReplicaAck(new InFlightReplies(machineTime, onError), (args) => sendOn(waiting, args));
  const opened = (each: Client): Promise<unknown> => (each.isOpen ? Promise.resolve() : each.connect());
  return {
    async open() {
      await opening.connect();
      await refuseMember(client);
    },
    get trouble() {
      return opening.trouble;
    },
    close: async () => clients.forEach(({ end }) => end()),
    send: (_key: string, args: Arguments) => owed.ask(() => sendOn(client, args)),
    sendConfirmed: (key: string, args: Arguments) => opened(waiting).then(() => acknowledged.send(key, args)),
    primaries: () => [(args: Arguments) => owed.ask(() => sendOn(client, args))],
    async subscribe(channel: string, heard: (text: string) => void, again: () => void) {
      await opened(listening);
      await listening.subscribe(channel, heard);
      listening.on('ready', again);
      return async () => {
        listening.off('ready', again);
        if (listening.isReady) await listening.unsubscribe(channel, heard);
      };
    },
  };
}
