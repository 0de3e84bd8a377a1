/**
 * The load of all processes in the last hour, a row for each process and step. Nobody relies on a row: none is waited
 * for.
 */
import { limits } from '../../base/limits.ts';
import type { LoadBoard, LoadRow } from '../../metrics/load.ts';
import type { Roots } from './keys.ts';
import type { RedisLink } from './link.ts';
import { textOfReply, listOfReply } from './reply.ts';

export class RedisLoadBoard implements LoadBoard {
  readonly #link: RedisLink;
  readonly #roots: Roots;

  constructor(link: RedisLink, roots: Roots) {
    this.#link = link;
    this.#roots = roots;
  }

  async put(row: LoadRow): Promise<void> {
    const kept = limits.loadSteps * limits.loadStepSeconds;
    await this.#link.run('put-load', this.#roots.load, { row: JSON.stringify(row), start: row.start, kept });
  }

  async read(from: number): Promise<LoadRow[]> {
    const key = `${this.#roots.load}:rows`;
    const rows = listOfReply(await this.#link.send(key, 'ZRANGEBYSCORE', key, from, '+inf'));
    return rows.map((row) => JSON.parse(textOfReply(row)) as LoadRow);
  }
}
