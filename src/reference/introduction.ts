/** What the reference says before its operations: `info.description` of the OpenAPI document, in Markdown. */
import { limits } from '../limits.ts';

export const introduction = `Conversations with published assistants. A client opens a session, sends messages whose replies stream back as server-sent events, \
reads transcripts and usage, and has texts spoken and speech transcribed. Bodies are JSON in UTF-8, times are Unix seconds, and an optional value that is absent is \`null\`.

## Authentication

A request carries an API key as \`Authorization: Bearer KEY\` or \`X-Api-Key: KEY\`. Keys are created in the console, can expire, be revoked, and be restricted to some assistants. \
The paths below \`/console/api\` take the operator token instead, or the cookie of a person who is signed in.

## Errors

Every failure has one shape, and its \`request_id\` is in \`X-Request-Id\` as well:

\`\`\`json
{"error":{"type":"not_found","code":"session_not_found","message":"No such session."},"request_id":"req_1m3250v000b462fc68hzkz1c46"}
\`\`\`

Checks are made in this order, and the first that fails answers: route (404), authentication (401), budgets (429), body (400), fields (422), resource (404), permission (403), \
required visitor fields (422), state (409), turns in flight (429), provider (503). Once a stream has begun a failure is its last event, \`error\`.

Retry 429 after \`Retry-After\`, 500 \`api_error\` with backoff and three attempts in all, 503 \`api_error\` with backoff. Do not retry 503 \`assistant_unavailable\` or \`voice_unavailable\`, nor any other 4xx.

## Limits

Each key has token buckets: ${limits.requestsPerMinute} requests, ${limits.speechPerMinute} of speech and ${limits.transcriptionTokensPerMinute} transcription tokens a minute unless it is given others. \
Every answer to a key carries \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\`; a 503 has none if the key could not be looked up. A refused request costs one as well, so a client that retries at once waits longer, and one that waits \
\`Retry-After\` passes. A body may have ${limits.bodyBytesMax / 1024} KiB.

## Repeats

\`POST /sessions\` and \`POST /sessions/{id}/chat\` take an \`Idempotency-Key\`: for 24 hours the same key and body give the same session, or join the same turn's stream, with \`Idempotent-Replayed: true\`. \
Every other call may be repeated as its description says.`;
