/** The steps of a person at the desk (contract 23): take, answer, return and release a session. */
import { newIdempotencyKey, pause, realClock } from '../client/clock.ts';
import { ConnectionError } from '../client/failure.ts';
import type { Message, Session } from '../client/types.ts';
import type { ConsoleConnection } from './connection.ts';
import { segment, type ConsoleAnswer } from './console-client.ts';
import { AdvisedFailure } from './exit.ts';
import { oneLine } from './output.ts';

type Verb = 'take' | 'return' | 'release' | 'reply';
type Connection = Pick<ConsoleConnection, 'client' | 'workspace'>;

export const returned = 'The assistant answers again.';
export const released = 'The visitor waits for the next person.';

export const sessionPath = ({ workspace }: Connection, id: string): string => `${workspace}/sessions/${segment(id)}`;

export const step = (
  connection: Connection,
  path: string,
  verb: 'take' | 'return' | 'release',
): Promise<ConsoleAnswer<Session>> =>
  explained(connection, path, verb, () => connection.client.post<Session>(`${path}/${verb}`));

/** Attempts to send one message, which share a key: a message whose answer was lost is stored once. */
const sendAttempts = 3;
const sendAgainMs = 1000;

export function sendText(connection: Connection, id: string, text: string): Promise<ConsoleAnswer<Message>> {
  const path = sessionPath(connection, id);
  const key = newIdempotencyKey();
  return explained(connection, path, 'reply', async () => {
    for (let attempt = 1; ; attempt++) {
      try {
        return await connection.client.postOnce<Message>(`${path}/messages`, { text }, key);
      } catch (error) {
        if (!(error instanceof ConnectionError) || attempt === sendAttempts) throw error;
        await pause(realClock, sendAgainMs * attempt, undefined);
      }
    }
  });
}

/** Says in plain words why a step was refused: 409 `session_taken` does not name who has the session. */
async function explained<T>({ client }: Connection, path: string, verb: Verb, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof AdvisedFailure)) throw error;
    const { answer } = error;
    if (answer.code === 'route_not_found')
      throw new AdvisedFailure('A conversation of an OpenAI or MCP client is never at the desk.', answer);
    if (answer.code !== 'session_taken') throw error;
    const { body } = await client.get<Session>(path);
    const name = body.attendance.person?.name;
    throw new AdvisedFailure(
      name === undefined ? nobodyHas(body, verb) : `${oneLine(name)} has this conversation.`,
      answer,
    );
  }
}

/** The sentence for a step that somebody must have the session for: what it would bring about may be so already. */
function nobodyHas({ id, attendance: { state } }: Session, verb: Verb): string {
  if (state === 'waiting' && verb === 'release') return `Nobody has this conversation. ${released}`;
  if (state === 'assistant' && verb === 'return') return 'Nobody has this conversation: the assistant answers.';
  return `Nobody has this conversation. Take it first with \`parley desk take ${id}\`.`;
}
