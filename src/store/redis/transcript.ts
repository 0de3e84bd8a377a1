/** Reading what was said. */
import type { Message, Page, PageRequest, TurnPlace } from '../../store.ts';
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
}
