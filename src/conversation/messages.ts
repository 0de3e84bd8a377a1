/** The messages of a session that a caller sees. */
import type { Message, Page, PageRequest, Store } from '../store/store.ts';

/** A change of who answers without a note is no message for anybody. */
const isShown = ({ attendance, content }: Message): boolean => attendance === undefined || content !== '';

/** A page of the messages that are shown, read until it is full. */
export async function readMessages(
  { sessions }: Pick<Store, 'sessions'>,
  workspaceId: string,
  sessionId: string,
  page: PageRequest,
): Promise<Page<Message>> {
  const items: Message[] = [];
  for (let { after } = page; ;) {
    const found = await sessions.messages(workspaceId, sessionId, { ...page, after, limit: page.limit - items.length });
    items.push(...found.items.filter(isShown));
    if (found.next === null || items.length === page.limit) return { items, next: found.next };
    after = found.next;
  }
}
