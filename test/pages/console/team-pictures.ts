/** The pictures of People, Audit and a webhook with its deliveries, wide and on a phone. */
import { assistantPath, begin, end, operate, synthetic } from '../../api/talk.ts';
import { cookieFor, linkFor } from '../../api/signing.ts';
import type { House } from '../../api/house.ts';
import type { Owner } from '../../folders.ts';
import { openReceiver } from '../../webhook-receiver.ts';
import type { Picture } from './picture.ts';

/** Invites people, changes an assistant, and has two events sent; the receiver accepts the first alone. */
export async function teamPictures(owner: Owner, house: House): Promise<readonly Picture[]> {
  await cookieFor(house, await linkFor(house, 'Ana'));
  await cookieFor(house, await linkFor(house, 'Vera'));
  const people = (await operate(house, 'GET', '/people')).data as { id: string; name: string }[];
  const vera = people.find(({ name }) => name === 'Vera')!;
  await operate(house, 'PATCH', `/people/${vera.id}`, { role: 'viewer', workspace_id: house.workspaceId });
  const receiver = await openReceiver(owner);
  const webhook = await operate(house, 'POST', `/workspaces/${house.workspaceId}/webhooks`, {
    url: receiver.url,
    events: ['turn.completed', 'session.ended'],
  });
  receiver.secret = webhook.secret;
  receiver.answer = () => (receiver.received.length === 0 ? 204 : 500);
  const { id } = await synthetic(house, 'tokens=2', { name: 'Corner shop' });
  await operate(house, 'PATCH', assistantPath(house, id), { greeting: 'Good day!' });
  const { id: session, stream } = await begin(house, id);
  await stream.rest();
  await receiver.until((received) => received.length === 1);
  await end(house, session);
  await receiver.until((received) => received.length === 2);
  const page = (name: string, height: number, ...path: readonly string[]): readonly Picture[] => [
    { name, colorScheme: 'light', height, path },
    { name: `${name}-phone`, colorScheme: 'light', width: 360, path },
  ];
  return [
    ...page('people', 520, 'people'),
    ...page('audit', 620, 'audit'),
    ...page('webhook', 620, house.workspaceId, 'webhooks', webhook.id),
  ];
}
