/** `GET /sessions/{id}/transcript`: oldest first unless asked otherwise. */
import { readMessages } from '../../conversation/messages.ts';
import { reachSession } from '../../conversation/access-checks.ts';
import { jsonText } from '../../base/json.ts';
import { limits } from '../../base/limits.ts';
import type { PrincipalCaller, Reply, Request } from '../request.ts';
import type { Services } from '../../conversation/services.ts';
import { StoreUnavailable, type Store, type TurnPlace } from '../../store/store.ts';
import { codePoints, textBehind } from '../../base/text.ts';
import { messageView, type Channel } from '../../conversation/views.ts';
import { replyFlowing } from './flowing.ts';
import { frameOf, listReply, pageRequest, writePage, type PageFields } from './lists.ts';

export async function transcript({
  caller: { principal },
  params,
  query,
  services,
}: Request<PrincipalCaller, PageFields>): Promise<Reply> {
  const { id } = await reachSession(principal, params.id, services);
  return transcriptPage(principal.workspaceId, id, principal.channel, query, services);
}

export async function transcriptPage(
  workspaceId: string,
  sessionId: string,
  channel: Channel,
  query: PageFields,
  { store }: Services,
): Promise<Reply> {
  const page = await writePage(
    pageRequest(query, 'asc'),
    (wanted) => readMessages(store, workspaceId, sessionId, wanted),
    (message) => messageView(message, channel),
  );
  const [message] = page.items;
  const isLong = page.texts.length === 1 && Buffer.byteLength(page.texts[0]!) > limits.answerBytesMax;
  // The text of a reply alone is its turn's output.
  if (!isLong || message?.turnId == null || message.role !== 'assistant') return listReply(page);
  const { turnId, content } = message;
  return replyFlowing(
    longMessage(
      store,
      { workspaceId, sessionId, turnId },
      messageView({ ...message, content: '' }, channel),
      codePoints(content),
      page.next,
    ),
  );
}

/**
 * A page of one message whose text has `length` code points. The text is read from the store again, as the client takes
 * it.
 */
async function* longMessage(
  store: Store,
  place: TurnPlace,
  emptied: object,
  length: number,
  next: string | null,
): AsyncGenerator<string, void> {
  const [before, behind] = frameOf(next);
  const text = jsonText(emptied);
  // No field before the content can contain these characters.
  const at = text.indexOf(emptyContent);
  const [head, tail] = [text.slice(0, at), text.slice(at + emptyContent.length)];
  yield `${before}${head}"content":"`;
  for (let position = 0; position < length; position += limits.flowingCharacters) {
    yield await slice(store, place, position, Math.min(limits.flowingCharacters, length - position));
  }
  yield `"${tail}${behind}`;
}

const emptyContent = '"content":""';

/** `count` code points of a turn's text from a position, escaped as in a JSON string. */
async function slice(store: Store, place: TurnPlace, position: number, count: number): Promise<string> {
  const found = await store.turns.outputAfter(place, position);
  const text = found?.text ?? '';
  const behind = textBehind(text, count);
  // The message was deleted meanwhile, or a failover lost it.
  if (behind === null) throw new StoreUnavailable('a message was deleted while it was read');
  return jsonText(text.slice(0, text.length - behind.length)).slice(1, -1);
}
