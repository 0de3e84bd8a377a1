/** Clients who begin to send and never end, and clients who ask for much and read nothing of it. */
import { synthetic } from '../api/talk.ts';
import { RawClient } from '../edge/harness.ts';
import { healthy } from './barrage.ts';
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
  await Promise.all(clients.map((client) => client.send(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${house.key}\r\n\r\n`)));
  return clients;
}

/** Of so many requests, one after another, the time that 99 of 100 stay under, in milliseconds. */
async function slowestMs(world: World, times: number): Promise<number> {
  const took: number[] = [];
  for (let index = 0; index < times; index++) {
    const begun = performance.now();
    await healthy(world);
    took.push(performance.now() - begun);
  }
  return took.sort((a, b) => a - b)[Math.floor(times * 0.99)]!;
}

/** How long others wait, before and while slow clients are there; throws if it is more than twice as long. */
export async function slowness(world: World, times: number): Promise<string> {
  const replay = await longTurn(world);
  await slowestMs(world, times);
  const before = await slowestMs(world, times);
  const clients = [...(await beginWriting(world, 1000)), ...(await askAndNeverRead(world, replay, 200))];
  const during = await slowestMs(world, times);
  for (const client of clients) client.destroy();
  const words = `99 of 100 requests took ${before.toFixed(1)} ms at most, and ${during.toFixed(1)} ms with ${clients.length} slow clients`;
  if (during > 2 * before) throw new Error(words);
  return words;
}
