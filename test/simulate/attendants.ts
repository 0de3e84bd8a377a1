/** People of the desk: they take sessions from each other, answer, and give them up (contract 23). */
import type { Gossip } from './clients.ts';
import type { Asked } from './history.ts';
import { ask, type Request } from './network.ts';
import type { World } from './world.ts';

export const deskNames = ['Ann', 'Bob'] as const;

const attemptsMax = 4;

/** Does one thing after the other until it is late. A message is sent again under its key until it has an answer. */
export async function runAttendant(
  world: World,
  gossip: Gossip,
  cookie: string,
  name: string,
  untilMs: number,
): Promise<void> {
  const { scheduler, seeds, hosts } = world;
  const { random } = scheduler;
  const send = (request: Request): Promise<Asked> => {
    const headers = { ...request.headers, cookie, host: 'parley.example', 'sec-fetch-site': 'same-origin' };
    return ask(world, { name, keyId: null }, random.pick(hosts), { ...request, headers }).over;
  };
  while (scheduler.now < untilMs) {
    await scheduler.sleep(random.delay(1500, 10_000));
    if (gossip.sessions.length === 0) continue;
    const id = random.chance(0.6) ? gossip.sessions.at(-1)! : random.pick(gossip.sessions);
    const verb = random.pick(['take', 'take', 'messages', 'messages', 'return', 'release']);
    const path = `/console/api/workspaces/${seeds.workspaceId}/sessions/${id}/${verb}`;
    const isMessage = verb === 'messages';
    const text = `${name} ${gossip.number++}`;
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const { status } = await send({
        method: 'POST',
        path,
        ...(isMessage && { body: { text }, headers: { 'idempotency-key': text } }),
      });
      if (!isMessage || (status !== null && status !== 503)) break;
      await scheduler.sleep(random.delay(500, 5000));
    }
  }
}
