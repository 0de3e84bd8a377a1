/**
 * References to items of earlier responses (contract 14), with which clients send a conversation that the server has.
 */
import { atTurnEnd } from '../../base/clock.ts';
import { Failure } from '../../base/errors.ts';
import type { Principal } from '../../conversation/principal.ts';
import { reachResponse } from '../../conversation/responses.ts';
import type { Services } from '../../conversation/services.ts';
import { reachTurn } from '../../conversation/turns.ts';
import type { Item, PlacedItem } from './items.ts';
import { outputOf, responseOfItem } from './response.ts';

type Output = ReadonlyMap<string, Item>;

/** The responses that are read before other work runs. */
const readAtOnce = 16;

/**
 * The items with those that they refer to in place of references. Throws 422, the item's path, for one that the caller
 * was never given.
 */
export async function resolved(
  principal: Principal,
  items: readonly PlacedItem[],
  services: Services,
): Promise<readonly PlacedItem[]> {
  const outputs = new Map<string, Output | null>();
  const found: PlacedItem[] = [];
  for (const { path, item } of items) {
    if (item.type !== 'item_reference') {
      found.push({ path, item });
      continue;
    }
    const id = item.id ?? '';
    const responseId = responseOfItem(id);
    if (responseId === null) throw new Failure('invalid_field', { field: path });
    if (!outputs.has(responseId)) {
      outputs.set(responseId, await outputsOf(principal, responseId, services));
      if (outputs.size % readAtOnce === 0) await new Promise<void>((resolve) => atTurnEnd(resolve));
    }
    const referred = outputs.get(responseId)?.get(id);
    if (referred === undefined) throw new Failure('invalid_field', { field: path });
    found.push({ path, item: referred });
  }
  return found;
}

/** The items of a response by their ids; null if the caller has no such response. */
async function outputsOf(principal: Principal, responseId: string, services: Services): Promise<Output | null> {
  try {
    const { turnId, session } = await reachResponse(principal, responseId, services);
    const turn = await reachTurn(principal, session.id, turnId, services);
    return new Map(
      (outputOf(turn, turn.log.terminal) as (Item & { readonly id: string })[]).map((item) => [item.id, item]),
    );
  } catch (error) {
    if (error instanceof Failure && error.status < 500) return null;
    throw error;
  }
}
