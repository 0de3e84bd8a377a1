/** `GET /v1/models` and `GET /v1/models/{id}` (contract 14). */
import { atTurnEnd } from '../../base/clock.ts';
import { limits } from '../../base/limits.ts';
import { checkConverses, listed, reachModel } from '../../conversation/protocol-adapter.ts';
import { assistantsPage } from '../handlers/assistants.ts';
import type { PrincipalCaller, Reply, Request } from '../request.ts';
import type { Assistant } from '../../store/store.ts';

const modelView = ({ id, alias, name, createdAt }: Assistant) => ({
  id: alias ?? id,
  object: 'model',
  created: createdAt,
  owned_by: 'parley',
  name,
});

/** Clients of this API know no pages. */
export async function listModels({ caller: { principal }, services }: Request<PrincipalCaller>): Promise<Reply> {
  const data: object[] = [];
  for (let after: string | null = null; ;) {
    const { items, next }: Awaited<ReturnType<typeof assistantsPage>> = await assistantsPage(
      principal,
      { limit: limits.listMax, after, order: 'desc' },
      services,
    );
    data.push(...(await listed(items, services)).map(modelView));
    if (next === null) return { status: 200, json: { object: 'list', data } };
    after = next;
    // An embedded store answers within the iteration of the event loop; other work runs between pages.
    await new Promise<void>((resolve) => atTurnEnd(resolve));
  }
}

export async function getModel({
  caller: { principal },
  params,
  requestId,
  services,
}: Request<PrincipalCaller>): Promise<Reply> {
  const assistant = await reachModel(principal, params.id, services);
  await checkConverses(principal, assistant, null, requestId, services);
  return { status: 200, json: modelView(assistant.record) };
}
