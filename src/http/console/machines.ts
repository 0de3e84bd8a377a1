/** `/console/api/machines`: the machines that the actors run on, for clients that draw them. */
import { actorKinds, configurationOf, kinds } from '../../../machines/all.ts';
import { listOfAll, type PageFields } from '../handlers/lists.ts';
import type { Reply } from '../request.ts';
import { nowhere, present, type ConsoleRequest } from './common.ts';

/** Every machine, in a fixed order. */
export function listMachines({ query }: ConsoleRequest<PageFields>): Promise<Reply> {
  return listOfAll(actorKinds, query, 'asc', (kind) => ({ object: 'machine', kind, version: kinds[kind].version }));
}

export function getMachine({ params }: ConsoleRequest): Reply {
  const kind = present(actorKinds.find((one) => one === params.kind) ?? null, nowhere());
  return { status: 200, json: configurationOf(kind) };
}
