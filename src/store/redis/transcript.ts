/** Reads the transcript. */
import type { Message, Notice, OutputAfter, Page, PageRequest, ToolCall, Turn, TurnPlace } from '../store.ts';
import { unpackRow } from '../codec.ts';
import { part } from './keys.ts';
import type { Roots } from './keys.ts';
import type { RedisLink } from './link.ts';
import { feedbackOf, readMessage } from './records.ts';
import { textOfReply, bytesOfReply, listOfReply } from './reply.ts';
import type { RedisReply } from './reply.ts';

const index = /^\d{1,9}$/;

export class RedisTranscript {
  readonly #link: RedisLink;
  readonly #roots: Roots;

  constructor(link: RedisLink, roots: Roots) {
    this.#link = link;
    this.#roots = roots;
  }

  async page(workspaceId: string, sessionId: string, { limit, after, order }: PageRequest): Promise<Page<Message>> {
    if (after !== null && !index.test(after)) return { items: [], next: null };
    const answer = listOfReply(
      await this.#link.run('list-messages', this.#roots.workspace(workspaceId), {
        session: part(sessionId),
        order,
        after: after ?? '',
        count: limit + 1,
      }),
    );
    const calls = callsOf(answer.find((each) => Array.isArray(each)));
    const stored = answer.filter((each) => !Array.isArray(each));
    const messages = stored
      .slice(0, limit)
      .map(readMessage)
      .map((each) =>
        each.message.status === 'streaming' && calls.length > 0
          ? { ...each, message: { ...each.message, toolCalls: calls } }
          : each,
      );
    if (messages.some(({ message }) => message.status === 'streaming'))
      await this.#link.confirmOutput(this.#roots.workspace(workspaceId));
    return {
      items: await this.#rated(
        workspaceId,
        sessionId,
        messages.map(({ message }) => message),
      ),
      next: stored.length > limit ? messages.at(-1)!.index : null,
    };
  }

  /** The messages with the feedback on their turns. */
  async #rated(workspaceId: string, sessionId: string, messages: readonly Message[]): Promise<Message[]> {
    const fields = messages.flatMap(({ role, turnId, status }) =>
      role === 'assistant' && turnId !== null && status !== 'streaming' ? [`${part(turnId)}/feedback`] : [],
    );
    if (fields.length === 0) return [...messages];
    const root = this.#roots.workspace(workspaceId);
    const turns = `${root}:turns:${part(sessionId)}`;
    const stored = listOfReply(await this.#link.send(root, 'HMGET', turns, ...fields));
    const found = new Map(fields.map((field, index) => [field, feedbackOf(stored[index]!)]));
    return messages.map((message) => {
      const rated = message.role === 'assistant' ? found.get(`${part(message.turnId ?? '')}/feedback`) : undefined;
      return rated?.feedback === undefined ? message : { ...message, ...rated };
    });
  }

  async recent(
    workspaceId: string,
    sessionId: string,
    before: number,
    charactersMax: number,
    messagesMax: number,
  ): Promise<Message[]> {
    const root = this.#roots.workspace(workspaceId);
    const stored = listOfReply(
      await this.#link.run('read-recent-messages', root, {
        session: part(sessionId),
        before,
        charactersMax,
        messagesMax,
      }),
    );
    return stored.map((each) => readMessage(each).message).reverse();
  }

  async output({ workspaceId, sessionId, turnId }: TurnPlace): Promise<string> {
    const [status, stored] = (await this.#link.run('read-output', this.#roots.workspace(workspaceId), {
      session: part(sessionId),
      turn: part(turnId),
    })) as [RedisReply, RedisReply];
    if (stored === null) return '';
    return textOfReply(status) === 'streaming' ? textOfReply(stored) : readMessage(stored).message.content;
  }

  async outputAfter({ workspaceId, sessionId, turnId }: TurnPlace, position: number): Promise<OutputAfter | null> {
    const notice = JSON.stringify({ type: 'turn.moved', workspaceId, sessionId, turnId } satisfies Notice);
    const fields = {
      session: part(sessionId),
      turn: part(turnId),
      position,
      channel: this.#roots.channel('notices'),
      notice,
    };
    const root = this.#roots.workspace(workspaceId);
    const answer = await this.#link.run('read-output-after', root, fields);
    if (answer === null) return null;
    const [row, points, bytes, flying] = answer;
    const turn = unpackRow<Turn>(row);
    const calls = turn.calls === undefined ? callsOf(flying) : await this.#callsOf(workspaceId, turn);
    // A reader in another process waits for a replica too, as the owner does before it sends this text.
    if (turn.status !== 'streaming') await this.#link.confirmDurable(root);
    else if (points > 0) await this.#link.confirmOutput(root);
    return { turn, text: points < 0 ? null : lastCodePoints(bytes, points), ...(calls.length > 0 && { calls }) };
  }

  /** The tool calls of an ended turn: its message now changes only through results that these tool calls await. */
  async #callsOf(workspaceId: string, { sessionId, messageIndex }: Turn): Promise<readonly ToolCall[]> {
    const [message] = await this.recent(workspaceId, sessionId, messageIndex + 1, Number.MAX_SAFE_INTEGER, 1);
    return message?.toolCalls ?? [];
  }
}

/** The calls of a turn in flight, as a script answers them. */
export const callsOf = (stored: RedisReply | undefined): ToolCall[] =>
  (stored == null ? [] : listOfReply(stored)).map((call) => unpackRow<ToolCall>(bytesOfReply(call)));

/** The last `points` code points of a text in UTF-8. */
function lastCodePoints(bytes: Buffer, points: number): string {
  let at = bytes.length;
  for (let left = points; left > 0 && at > 0;) if ((bytes[--at]! & 0xc0) !== 0x80) left--;
  return bytes.toString('utf8', at);
}
