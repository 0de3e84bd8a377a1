/** Reading what was said. */
import type { Message, Notice, OutputAfter, Page, PageRequest, Turn, TurnPlace } from '../../store.ts';
import { unpackRow } from '../codec.ts';
import { part } from './keys.ts';
import type { Roots } from './keys.ts';
import type { Link } from './link.ts';
import { messageOf } from './records.ts';
import { textOf } from './reply.ts';
import type { Reply } from './reply.ts';

const index = /^\d{1,9}$/;

export class RedisTranscript {
  readonly #link: Link;
  readonly #roots: Roots;

  constructor(link: Link, roots: Roots) {
    this.#link = link;
    this.#roots = roots;
  }

  async page(workspaceId: string, sessionId: string, { limit, after, order }: PageRequest): Promise<Page<Message>> {
    if (after !== null && !index.test(after)) return { items: [], next: null };
    const stored = (await this.#link.run('messages', this.#roots.workspace(workspaceId), part(sessionId), order, after ?? '', limit + 1)) as Reply[];
    const found = stored.slice(0, limit).map(messageOf);
    return { items: found.map(({ message }) => message), next: stored.length > limit ? found.at(-1)!.index : null };
  }

  async recent(workspaceId: string, sessionId: string, before: number, charactersMax: number, messagesMax: number): Promise<Message[]> {
    const root = this.#roots.workspace(workspaceId);
    const stored = (await this.#link.run('recent-messages', root, part(sessionId), before, charactersMax, messagesMax)) as Reply[];
    return stored.map((each) => messageOf(each).message).reverse();
  }

  async output({ workspaceId, sessionId, turnId }: TurnPlace): Promise<string> {
    const [status, stored] = (await this.#link.run('output', this.#roots.workspace(workspaceId), part(sessionId), part(turnId))) as [Reply, Reply];
    if (stored === null) return '';
    return textOf(status) === 'streaming' ? textOf(stored) : messageOf(stored).message.content;
  }

  async outputAfter({ workspaceId, sessionId, turnId }: TurnPlace, position: number): Promise<OutputAfter | null> {
    const notice = JSON.stringify({ type: 'turn.moved', workspaceId, sessionId, turnId } satisfies Notice);
    const given = [part(sessionId), part(turnId), position, notice];
    const found = (await this.#link.run('output-after', this.#roots.workspace(workspaceId), ...given)) as Reply[] | null;
    if (found === null) return null;
    const [turn, points, bytes] = found as [Buffer, number, Buffer];
    return { turn: unpackRow<Turn>(turn), text: points < 0 ? null : lastCodePoints(bytes, points) };
  }
}

/** The end of a text in UTF-8, so many code points long. */
function lastCodePoints(bytes: Buffer, points: number): string {
  let at = bytes.length;
  for (let left = points; left > 0 && at > 0; ) if ((bytes[--at]! & 0xc0) !== 0x80) left--;
  return bytes.toString('utf8', at);
}
