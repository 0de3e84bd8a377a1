/** Headers in which a tool's credential may be sent (contract 13). */

/**
 * Headers that frame a request, name its target, or are set by this server: a credential in their place would break or
 * forge it.
 */
const taken: ReadonlySet<string> = new Set([
  'accept',
  'accept-charset',
  'accept-encoding',
  'connection',
  'expect',
  'host',
  'http2-settings',
  'idempotency-key',
  'keep-alive',
  'last-event-id',
  'te',
  'traceparent',
  'tracestate',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'via',
]);

/** Families of such headers. */
const takenFamilies = ['content-', 'mcp-', 'proxy-', 'webhook-'] as const;

/** Whether a credential may be sent in this header; `name` in any case. */
export function maySendIn(name: string): boolean {
  const lower = name.toLowerCase();
  return !taken.has(lower) && !takenFamilies.some((family) => lower.startsWith(family));
}
