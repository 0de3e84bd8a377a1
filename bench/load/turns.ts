/** Turns one after another on each of some connections: as fast as the server answers, or at given times. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Instance } from '../harness/contender.ts';
import type { Load } from '../load.ts';
import type { Shape } from '../text.ts';
import { Connection, type Listener } from './connection.ts';
import { AnswerStream } from './stream.ts';

interface Times {
  readonly firstMs: number[];
  readonly wholeMs: number[];
}

/**
 * Sends one request and resolves when its answer has come whole and checked. Its times count from `wantedAt`, of
 * `performance.now()`.
 */
function turn(
  connection: Connection,
  instance: Instance,
  request: string,
  shape: Shape,
  times: Times,
  wantedAt = performance.now(),
): Promise<void> {
  return new Promise((resolve, reject) => {
    const answer = new AnswerStream(instance.format, shape.tokens);
    let status = 0;
    const listener: Listener = {
      head: (code) => (status = code),
      piece: (piece, now) => {
        if (status !== 200) throw new Error(`Answered ${status}: ${piece}`);
        answer.take(piece, now);
      },
      ended: () => {
        try {
          answer.end();
          times.firstMs.push(answer.firstAt - wantedAt);
          times.wholeMs.push(performance.now() - wantedAt);
          resolve();
        } catch (error) {
          reject(error);
        }
      },
      failed: reject,
    };
    connection.send(request, listener);
  });
}

const connectionsTo = ({ ports }: Instance, count: number): Connection[] =>
  Array.from({ length: count }, (_, index) => new Connection(ports[index % ports.length]!));

export const converse: Load['converse'] = async (instance, requests, turnsEach, abreast, shape, until = Infinity) => {
  const times: Times = { firstMs: [], wholeMs: [] };
  let next = 0;
  const connections = connectionsTo(instance, Math.min(abreast, requests.length));
  const run = async (connection: Connection): Promise<void> => {
    while (next < requests.length && performance.now() < until) {
      const request = requests[next++]!;
      for (let count = 0; count < turnsEach; count++) await turn(connection, instance, request, shape, times);
    }
  };
  try {
    await Promise.all(connections.map(run));
  } finally {
    for (const connection of connections) connection.close();
  }
  return times;
};

/** A connection, and the turns that are left of its conversation. */
interface Client {
  readonly connection: Connection;
  request: string;
  left: number;
}

export const arrive: Load['arrive'] = async (instance, requests, turnsEach, abreast, shape, arrivals) => {
  const times: Times = { firstMs: [], wholeMs: [] };
  const idle: Client[] = connectionsTo(instance, abreast).map((connection) => ({ connection, request: '', left: 0 }));
  const clients = [...idle];
  const startedAt = performance.now();
  let [conversations, freed] = [0, (): void => {}];
  const take = async (client: Client, wantedAt: number): Promise<void> => {
    if (client.left-- === 0) {
      if (conversations === requests.length) throw new Error('There are fewer conversations than turns are wanted.');
      Object.assign(client, { request: requests[conversations++]!, left: turnsEach - 1 });
    }
    await turn(client.connection, instance, client.request, shape, times, wantedAt);
    idle.push(client);
    freed();
  };
  const turns: Promise<void>[] = [];
  let failed = false;
  try {
    for (const at of arrivals) {
      const waitMs = startedAt + at - performance.now();
      if (waitMs > 0) await pause(waitMs);
      while (idle.length === 0 && !failed) await new Promise<void>((resolve) => (freed = resolve));
      if (failed) break;
      const taken = take(idle.shift()!, startedAt + at);
      taken.catch(() => {
        failed = true;
        freed();
      });
      turns.push(taken);
    }
    await Promise.all(turns);
  } finally {
    for (const { connection } of clients) connection.close();
  }
  return times;
};

export const repeat: Load['repeat'] = async (port, request, status, count, abreast) => {
  let left = count;
  const connections = Array.from({ length: abreast }, () => new Connection(port));
  const once = (connection: Connection): Promise<void> =>
    new Promise((resolve, reject) => {
      const head = (code: number): void => {
        if (code !== status) reject(new Error(`Answered ${code} where ${status} was due.`));
      };
      connection.send(request, { head, piece: () => {}, ended: resolve, failed: reject });
    });
  const run = async (connection: Connection): Promise<void> => {
    while (left-- > 0) await once(connection);
  };
  try {
    await Promise.all(connections.map(run));
  } finally {
    for (const connection of connections) connection.close();
  }
};
