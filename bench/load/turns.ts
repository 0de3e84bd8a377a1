/** Turns one after another on each of some connections: as fast as the server answers, or at given times. */
import type { Instance } from '../harness/contender.ts';
import type { Shape } from '../text.ts';
import { Connection, type Listener } from './connection.ts';
import { AnswerStream } from './stream.ts';

export interface TurnTimes {
  /** From the request to the first text and to the end of the answer, in milliseconds, one item a turn. */
  readonly firstMs: number[];
  readonly wholeMs: number[];
}

/** Sends one request and resolves when its answer has come whole and checked. */
export function turn(connection: Connection, instance: Instance, request: string, shape: Shape, times: TurnTimes | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const answer = new AnswerStream(instance.format, shape.tokens);
    const sentAt = performance.now();
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
          times?.firstMs.push(answer.firstAt - sentAt);
          times?.wholeMs.push(performance.now() - sentAt);
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

/** Runs each conversation for `turnsEach` turns, `abreast` conversations at a time, until all are over or `until`, of `performance.now()`, has come. */
export async function converse(instance: Instance, requests: readonly string[], turnsEach: number, abreast: number, shape: Shape, until = Infinity): Promise<TurnTimes> {
  const times: TurnTimes = { firstMs: [], wholeMs: [] };
  let next = 0;
  const connections = Array.from({ length: Math.min(abreast, requests.length) }, (_, index) => new Connection(instance.ports[index % instance.ports.length]!));
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
}

/** Sends the same request `count` times, `abreast` at a time; each answer must have the status. */
export async function repeat(port: number, request: string, status: number, count: number, abreast: number): Promise<void> {
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
}
