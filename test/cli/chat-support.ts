/** A conversation API for the tests of `parley chat`. */
import type { ServerResponse } from 'node:http';
import {
  assistant,
  fakeServer,
  id,
  key,
  list,
  session,
  workspace,
  type FakeServer,
  type Received,
  type Route,
} from './support.ts';

export const turnId = id('turn', 'a');
export const messageId = id('msg', 'a');
export const chatPath = `/sessions/${session.id}/chat`;
export const turnPath = `/sessions/${session.id}/turns/${turnId}`;
export const keysPath = `/console/api/workspaces/${workspace.id}/keys`;

export const started = { turn_id: turnId, message_id: messageId };
export const completed = { ...started, stop_reason: 'end', usage: { input_tokens: 1, output_tokens: 2 } };
export const aborted = { ...started, stop_reason: 'aborted' };

export const turn = {
  id: turnId,
  object: 'turn',
  session_id: session.id,
  message_id: messageId,
  status: 'aborted',
  stop_reason: 'aborted',
  error_code: null,
  created_at: 1767225600,
  ended_at: 1767225601,
};

export type Event = readonly [event: string, id: number, data: unknown];

export function stream(response: ServerResponse, events: readonly Event[], end = true): void {
  if (!response.headersSent)
    response.writeHead(200, { 'content-type': 'text/event-stream', 'x-turn-id': turnId, 'x-request-id': 'req_stream' });
  for (const [event, number, data] of events)
    response.write(`event: ${event}\nid: ${number}\ndata: ${JSON.stringify(data)}\n\n`);
  if (end) response.end();
}

export const reply = (...texts: string[]): Event[] => {
  let count = 0;
  const deltas = texts.map((text): Event => ['message.delta', (count += [...text].length), { text }]);
  return [['turn.started', 0, started], ...deltas, ['turn.completed', count, completed]];
};

export const answering =
  (...events: Event[]): Route =>
  (_request, response) =>
    stream(response, events);

/** The API with one published assistant; `routes` come on top. */
export const api = (t: Parameters<typeof fakeServer>[0], routes: Record<string, Route>): Promise<FakeServer> =>
  fakeServer(t, {
    'GET /console/api/workspaces': () => list(workspace),
    [`POST ${keysPath}`]: (request) => ({ ...key, ...(request.body as object), key: 'ak_made' }),
    [`POST ${keysPath}/${key.id}/revoke`]: () => ({ ...key, status: 'revoked' }),
    'GET /assistants': () => list(assistant),
    [`GET /assistants/${assistant.id}`]: () => assistant,
    'POST /sessions': () => session,
    [`GET /sessions/${session.id}`]: () => session,
    [`POST /sessions/${session.id}/end`]: () => ({ ...session, status: 'ended' }),
    [`POST ${turnPath}/abort`]: () => turn,
    ...routes,
  });

export const chats = (server: FakeServer): Received[] => server.received.filter((one) => one.path === chatPath);
export const withKey = (server: FakeServer) => ({ PARLEY_URL: server.url, PARLEY_API_KEY: 'ak_given' });
