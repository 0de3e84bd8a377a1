/** `GET /v1/models` and `GET /v1/models/{id}` (contract 14). */
import { limits } from '../../base/limits.ts';
import { checkConverses, isListed, reachModel } from '../../conversation/front.ts';
import type { AssistantActor } from '../../host/assistants.ts';
import { assistantsPage } from '../handlers/assistants.ts';
import type { PartyCaller, Reply, Request } from '../request.ts';

const modelView = ({ record: { id, alias, name, createdAt } }: AssistantActor) => ({ id: alias ?? id, object: 'model', created: createdAt, owned_by: 'parley', name });

/** Clients of this API know no pages. */
export async function listModels({ caller: { party }, services }: Request<PartyCaller>): Promise<Reply> {
  const data: object[] = [];
  for (let after: string | null = null; ; ) {
    const { items, next }: Awaited<ReturnType<typeof assistantsPage>> = await assistantsPage(party, { limit: limits.listMax, after, order: 'desc' }, services);
    for (const { id } of items) {
      const assistant = await services.host.assistants.of(party.workspaceId, id);
      if (assistant !== null && isListed(assistant, services)) data.push(modelView(assistant));
    }
    if (next === null) return { status: 200, json: { object: 'list', data } };
    after = next;
  }
}

export async function getModel({ caller: { party }, params, requestId, services }: Request<PartyCaller>): Promise<Reply> {
  const assistant = await reachModel(party, params.id!, services);
  checkConverses(party, assistant, requestId, services);
  return { status: 200, json: modelView(assistant) };
}
