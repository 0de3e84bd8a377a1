/** Reads the transcript. */
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
    const stored = (await this.#link.run('messages', this.#roots.workspace(workspaceId), { session: part(sessionId), order, after: after ?? '', count: limit + 1 })) as Reply[];
    const found = stored.slice(0, limit).map(messageOf);
    if (found.some(({ message }) => message.status === 'streaming')) await this.#link.confirmOutput(this.#roots.workspace(workspaceId));
    return { items: found.map(({ message }) => message), next: stored.length > limit ? found.at(-1)!.index : null };
  }

  async recent(workspaceId: string, sessionId: string, before: number, charactersMax: number, messagesMax: number): Promise<Message[]> {
    const root = this.#roots.workspace(workspaceId);
    const stored = (await this.#link.run('recent-messages', root, { session: part(sessionId), before, charactersMax, messagesMax })) as Reply[];
    return stored.map((each) => messageOf(each).message).reverse();
  }

  async output({ workspaceId, sessionId, turnId }: TurnPlace): Promise<string> {
    const [status, stored] = (await this.#link.run('output', this.#roots.workspace(workspaceId), { session: part(sessionId), turn: part(turnId) })) as [Reply, Reply];
    if (stored === null) return '';
    return textOf(status) === 'streaming' ? textOf(stored) : messageOf(stored).message.content;
  }

  async outputAfter({ workspaceId, sessionId, turnId }: TurnPlace, position: number): Promise<OutputAfter | null> {
    const notice = JSON.stringify({ type: 'turn.moved', workspaceId, sessionId, turnId } satisfies Notice);
    const given = { session: part(sessionId), turn: part(turnId), position, notice };
    const root = this.#roots.workspace(workspaceId);
    const found = (await this.#link.run('output-after', root, given)) as Reply[] | null;
    if (found === null) return null;
    const [row, points, bytes] = found as [Buffer, number, Buffer];
    const turn = unpackRow<Turn>(row);
    // A reader in another process waits for a replica too, as the owner does before it sends this text.
    if (turn.status !== 'streaming') await this.#link.confirmDurable(root);
    else if (points > 0) await this.#link.confirmOutput(root);
    return { turn, text: points < 0 ? null : lastCodePoints(bytes, points) };
  }
}

/** The last `points` code points of a text in UTF-8. */
function lastCodePoints(bytes: Buffer, points: number): string {
  let at = bytes.length;
  for (let left = points; left > 0 && at > 0; ) if ((bytes[--at]! & 0xc0) !== 0x80) left--;
  return bytes.toString('utf8', at);
}
