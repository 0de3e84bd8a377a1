/** The headers that a tool's credential may be sent in (contract 13). */

/**
 * The headers that frame a request, say where it goes, or are ours to say: a credential in their place would break or
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

/** `name` in any case. */
export function maySendIn(name: string): boolean {
  const lower = name.toLowerCase();
  return !taken.has(lower) && !takenFamilies.some((family) => lower.startsWith(family));
}
