/** Puts an earlier message in the place of what it was, in its own row or in its exchange's. */
import type { AmendedMessage } from '../store.ts';
import type { Draft, WriteBatcher } from '../write-batcher.ts';
import * as keys from './keys.ts';
import type { ExchangeRow, StoredMessage } from './rows.ts';

export function amendMessage(
  draft: Draft,
  batcher: WriteBatcher,
  { workspaceId, sessionId }: { readonly workspaceId: string; readonly sessionId: string },
  amends: AmendedMessage | undefined,
): void {
  if (amends === undefined) return;
  const { index, message } = amends;
  const before = index > 0 ? batcher.get<StoredMessage>(keys.message(workspaceId, sessionId, index - 1)) : undefined;
  if (before !== undefined && 'said' in before)
    draft.put(
      keys.message(workspaceId, sessionId, index - 1),
      { said: before.said, reply: message } satisfies ExchangeRow,
      'exchange',
    );
  else draft.put(keys.message(workspaceId, sessionId, index), message, 'message');
}
