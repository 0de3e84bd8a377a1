/** Reads deliveries for an examination, also of webhooks that are gone and still get events. */
import { limits } from '../../../base/limits.ts';
import type { ExaminedDelivery } from '../../store.ts';
import type { Roots } from '../keys.ts';
import type { RedisLink } from '../link.ts';
import { textOfReply, type RedisReply, listOfReply } from '../reply.ts';
import { deliveryOf } from '../webhooks.ts';

/** Fields of a delivery in the answer of `examine-deliveries`. */
const fieldCount = 6;

export async function* examinedDeliveries(
  link: RedisLink,
  roots: Roots,
  workspaceId: string,
): AsyncGenerator<ExaminedDelivery> {
  const root = roots.workspace(workspaceId);
  const stored = listOfReply(await link.send(root, 'ZRANGE', `${root}:webhook:ids`, 0, -1));
  // A workspace has few webhooks: the first page has them all.
  const [, wants] = (await link.send(root, 'HSCAN', `${root}:wants`, 0, 'COUNT', limits.scanRowsMax)) as [
    RedisReply,
    RedisReply[],
  ];
  const webhooks = [...stored, ...wants.filter((_, index) => index % 2 === 0)].map(textOfReply);
  for (const webhook of new Set(webhooks)) {
    for (let after = '-'; ;) {
      const count = limits.scanRowsMax;
      const [ids, rows] = await link.run('examine-deliveries', root, { webhook, after, count });
      for (let at = 0; at < rows.length; at += fieldCount)
        yield examined(workspaceId, webhook, rows.slice(at, at + fieldCount));
      if (ids < count) break;
      after = `(${textOfReply(rows[(count - 1) * fieldCount])}`;
    }
  }
}

function examined(workspaceId: string, webhookId: string, fields: readonly (Buffer | null)[]): ExaminedDelivery {
  const [id, due] = [textOfReply(fields[0]), fields[5] ?? null];
  const [event, state, session, source] = fields.slice(1, 5);
  const isMissing = event == null || state == null;
  const record = isMissing
    ? null
    : {
        ...deliveryOf({ id, workspaceId, webhookId }, event, state),
        sessionId: session && textOfReply(session),
        sourceId: source && textOfReply(source),
      };
  return { webhookId, id, record, dueMs: due === null ? null : Number(textOfReply(due)) };
}
