/** `GET /sessions/{id}/transcript`: oldest first unless asked otherwise. */
import { limits } from '../limits.ts';
import type { KeyCaller, Reply, Request } from '../request.ts';
import type { Services } from '../services.ts';
import { StoreUnavailable, type Message, type Store, type TurnPlace } from '../store.ts';
import { codePoints, textBehind } from '../text.ts';
import { messageView } from '../views.ts';
import { reachSession } from './common.ts';
import { flowing } from './flowing.ts';
import { frameOf, listReply, pageRequest, writtenPage, type PageFields } from './lists.ts';

export async function transcript(request: Request<KeyCaller, PageFields>): Promise<Reply> {
  const { caller, query, services } = request;
  const { id } = await reachSession(request);
  return transcriptPage(caller.workspaceId, id, query, services);
}

export async function transcriptPage(workspaceId: string, sessionId: string, query: PageFields, { store }: Services): Promise<Reply> {
  const page = await writtenPage(pageRequest(query, 'asc'), (wanted) => store.messages(workspaceId, sessionId, wanted), messageView);
  const [message] = page.items;
  const isLong = page.texts.length === 1 && Buffer.byteLength(page.texts[0]!) > limits.answerBytesMax;
  if (!isLong || message?.turnId == null) return listReply(page);
  const { turnId, content } = message;
  return flowing(longMessage(store, { workspaceId, sessionId, turnId }, { ...message, content: '' }, codePoints(content), page.next));
}

/** A page of one message whose text, so many code points long, is asked for again as its reader takes it. */
async function* longMessage(store: Store, place: TurnPlace, emptied: Message, length: number, next: string | null): AsyncGenerator<string, void> {
  const [before, behind] = frameOf(next);
  // None of its other fields can hold these characters.
  const [head, tail] = JSON.stringify(messageView(emptied)).split('"content":""') as [string, string];
  yield `${before}${head}"content":"`;
  for (let position = 0; position < length; position += limits.flowingCharacters) {
    yield await slice(store, place, position, Math.min(limits.flowingCharacters, length - position));
  }
  yield `"${tail}${behind}`;
}

/** So many code points of a turn's text, as they stand within a string of JSON. */
async function slice(store: Store, place: TurnPlace, position: number, count: number): Promise<string> {
  const found = await store.outputAfter(place, position);
  const text = found?.text ?? '';
  const behind = textBehind(text, count);
  // Deleted meanwhile, or forgotten by a failover.
  if (behind === null) throw new StoreUnavailable('a message has gone while it was read');
  return JSON.stringify(text.slice(0, text.length - behind.length)).slice(1, -1);
}
