/** `/console/api/machines`: the machines that the actors run on, for those who draw them. */
import { actorKinds, configurationOf, kinds } from '../../machines/all.ts';
import { list, pageRequest, type PageFields } from '../handlers/lists.ts';
import type { Reply } from '../request.ts';
import { nowhere, present, type ConsoleRequest } from './common.ts';

/** Every machine, in a fixed order; the cursors are indexes. */
export function listMachines({ query }: ConsoleRequest<PageFields>): Promise<Reply> {
  return list(
    pageRequest(query, 'asc'),
    ({ after, limit, order }) => {
      const ordered = order === 'asc' ? actorKinds : [...actorKinds].reverse();
      const from = Number(after ?? 0);
      return { items: ordered.slice(from, from + limit), next: from + limit < ordered.length ? String(from + limit) : null };
    },
    (kind) => ({ object: 'machine', kind, version: kinds[kind].version }),
  );
}

export function getMachine({ params }: ConsoleRequest): Reply {
  const kind = present(actorKinds.find((one) => one === params.kind) ?? null, nowhere());
  return { status: 200, json: configurationOf(kind) };
}
