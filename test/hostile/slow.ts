/** Clients who begin to send and never end, and clients who ask for much and read nothing of it. */
import { synthetic } from '../api/talk.ts';
import { RawClient } from '../http/edge/harness.ts';
import type { World } from './world.ts';

/** Each has sent a part of a head or of a body. */
export async function beginWriting({ house, port }: World, count: number): Promise<RawClient[]> {
  const key = `Authorization: Bearer ${house.key}\r\n`;
  const begun = [
    'G',
    'GET /assistants HTTP/1.1\r\nHost: x\r\nX-',
    `POST /sessions HTTP/1.1\r\nHost: x\r\n${key}Content-Length: 1000\r\n\r\n{`,
    `POST /sessions HTTP/1.1\r\nHost: x\r\n${key}Transfer-Encoding: chunked\r\n\r\n3e8\r\n{`,
    `POST /sessions HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{`,
  ];
  const clients = Array.from({ length: count }, () => new RawClient(port));
  await Promise.all(clients.map((client, index) => client.send(begun[index % begun.length]!)));
  return clients;
}

/** The path of the events of a turn that is nearly as long as one may be. */
export async function longTurn({ house }: World): Promise<string> {
  const assistant = await synthetic(house, `tokens=1500,text=${'x'.repeat(100)}`);
  const { id } = await house.session(assistant.id);
  const stream = await house.stream(`/sessions/${id}/chat`, { body: { message: 'Hello' } });
  await stream.rest();
  return `/sessions/${id}/turns/${stream.turnId}/events`;
}

export async function askAndNeverRead({ house, port }: World, path: string, count: number): Promise<RawClient[]> {
  const clients = Array.from({ length: count }, () => new RawClient(port));
  for (const client of clients) client.socket.pause();
  await Promise.all(
    clients.map((client) =>
      client.send(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${house.key}\r\n\r\n`),
    ),
  );
  return clients;
}
