/** The rules about the service around the assistant. They are tried on questions and on bare catchwords only. */
import { errors } from '../../../base/errors.ts';
import type { ErrorRow } from '../../../base/errors.ts';
import { limits } from '../../../base/limits.ts';
import { grouped } from '../../../base/text.ts';
import type { Rule } from './rule.ts';

export const service: readonly Rule[] = [
  {
    pattern:
      /\b(?:real|other|another|different|own|better|actual|language) (?:ai |language )?(?:models?|llms?|providers?)\b|\b(?:use|connect|add|plug in|configure|set up|switch to|change|replace|choose) (?:in )?(?:a |an |the |my |you |to )*(?:\S+ )?(?:models?|llm|openai|chatgpt|gpt\S*|claude|anthropic|ollama|llama\S*|mistral|gemini|vllm|provider|you)\b|^(?:openai|anthropic|claude|gpt|ollama|vllm)$/i,
    replies: [
      'To put a real model in my place:\n1. `npx parley credentials create --provider openai --base-url URL` asks for an API key and stores it encrypted. The base URL of any OpenAI-compatible endpoint will do, its /v1 included; leave it out for OpenAI itself, or take the provider `anthropic`.\n2. `npx parley assistants update demo --provider openai --model NAME --credential crd_…` with the id that it printed; `--system-prompt` says what the model is told first.\nThe next turn uses it. A model server on your own machine or network also needs PARLEY_ALLOW_PRIVATE_PROVIDERS=1.',
    ],
  },
  {
    pattern:
      /\b(?:curl|example request|code example|get(?:ting)? started|quick ?start|first (?:request|steps|call)|where (?:do|should) i (?:start|begin))\b|\bhow (?:do|can|to)\b.{0,60}\b(?:call|use) (?:the |this |your )?(?:api|service)\b|\bhow does (?:the |this )?(?:api|service) work\b|\bhow do i start\b/i,
    replies: [
      'In three requests, each with your key in `Authorization: Bearer KEY`:\n1. `GET /assistants` lists the assistants that the key reaches.\n2. `POST /sessions` with `{"assistant_id":"…"}` opens a conversation.\n3. `POST /sessions/{id}/chat` with `{"message":"Hello"}` streams the reply.\n\nWith curl, add `-N` to the third to see the events as they come. Everything is described in `/openapi.json`.',
    ],
  },
  {
    pattern: /\b(?:resum\w*|reconnect\w*|last-event-id|dropped|lost connection|connection (?:drops|breaks|is lost))\b/i,
    replies: [
      'A turn goes on when its client goes away. Pick it up again with `GET /sessions/{id}/turns/{turn_id}/events` and the last event id in `Last-Event-ID`: you get the rest, each character once, and then the one final event. It works on a finished turn too.',
    ],
  },
  {
    pattern:
      /\b(?:abort\w*|cancel\w*|interrupt\w*|stop (?:a |the |you|this )?(?:turn|stream|reply|answer|generation|you)?)\b/i,
    replies: [
      '`POST /sessions/{id}/turns/{turn_id}/abort` stops a reply. What had been said until then stays in the transcript as a partial message, and the stream ends with `turn.aborted`. The turn’s id comes in the header `X-Turn-Id` and in `turn.started`.',
    ],
  },
  {
    pattern: /\b(?:stream\w*|server-sent|sse|event ?stream|events?|deltas?)\b/i,
    replies: [
      'A reply is a stream of server-sent events: `turn.started`, then `message.delta` with each piece of text, then exactly one of `turn.completed`, `turn.aborted` and `error`. Text is sent only once it is stored, so what you have seen is in the transcript. Each event’s id is a place to resume from.',
    ],
  },
  {
    pattern: /\b(?:idempoten\w*|retry|retries|retrying|twice|back-?off)\b/i,
    replies: [
      'After a 429 wait for `Retry-After` seconds; after a 500, or a 503 with the code `api_error`, back off with jitter; anything else is not retried. A repeated `POST /sessions` makes a second conversation and a repeated chat sends the message twice, unless both carry the same `Idempotency-Key`: then the second gets what the first made.',
    ],
  },
  {
    pattern:
      /\b(?:rate ?limit\w*|limits?|quotas?|429|too many requests|throttl\w*|how (?:many|long|big|large)\b.{0,60}\b(?:requests?|messages?|turns?|characters?))\b/i,
    replies: [
      `By default, per API key and minute: ${limits.requestsPerMinute} requests, ${limits.speechPerMinute} of speech, ${limits.transcriptionTokensPerMinute} transcription tokens. Per workspace: ${limits.turnsInFlightMax} turns in flight. A message may have ${grouped(limits.messageCharactersMax)} characters, a text to be spoken ${grouped(limits.speechCharactersMax)}. Every answer says in \`X-RateLimit-Remaining\` what is left; over the limit it is 429 with \`Retry-After\`, and retrying before that only makes the wait longer.`,
    ],
  },
  {
    pattern:
      /\b(?:api )?keys?\b|\bauthenti\w*|\bauthori[sz]\w*|\b401\b|\bbearer\b|\bx-api-key\b|\blog ?in\b|\bsign in\b/i,
    replies: [
      'Send the key as `Authorization: Bearer KEY` or as `X-Api-Key: KEY`. Keys are made by `parley keys create`, shown once, and can be restricted to some assistants, given limits and an expiry of their own, and revoked. A 401 tells by its code whether the key is missing, invalid, revoked or expired.',
    ],
  },
  {
    pattern: /\berrors?\b|\bstatus codes?\b|\bfailures?\b|\b(?:4\d\d|5\d\d)\b|\brequest[ _]id\b/i,
    replies: [
      'Every failure has one shape: `{"error":{"type","code","message"},"request_id"}`, with the same id in `X-Request-Id`. Branch on the type, log the code. Once a stream has begun the status is 200, and a failure comes as an `error` event with `code` and `message`. Name a code, as in “what is turn_in_progress?”, and I explain it.',
    ],
  },
  {
    pattern:
      /\btranscripts?\b|\b(?:chat |conversation |message )?history\b|\bpast messages\b|\b(?:see|read|find|view|look up)\b.{0,60}\b(?:conversations?|messages|chats)\b|\bis this (?:stored|saved|recorded|logged)\b/i,
    replies: [
      '`GET /sessions/{id}/transcript` gives the messages in order, with `limit` and `after` for paging. A reply that was cut, for whatever reason, stands there as `partial` with what had been said.',
    ],
  },
  {
    pattern:
      /\busage\b|\btokens? (?:count|used|usage)|\bstatistics\b|\bbilling\b|\bcosts?\b|\bhow much (?:do|does|have)\b/i,
    replies: [
      `\`GET /usage\` counts sessions, turns, tokens, speech and transcription by day or hour, over at most ${limits.usageDaysMax} days; \`start\` is inclusive and \`end\` exclusive. Where a provider gives no token counts, as I do not, they are estimated at four characters a token.`,
    ],
  },
  {
    pattern: /\b(?:voice|speech|speak|tts|stt|audio|transcri(?:be|ption)\w*|microphone)\b/i,
    replies: [
      'Where voice is on for an assistant, `POST /speech` speaks a text and `POST /transcription-tokens` gives the address of a WebSocket that writes down what it hears; `npx parley speak` and `npx parley listen` do both. The voice that comes with the service speaks and understands English and needs no network. Where voice is off it is 409 `voice_disabled`.',
    ],
  },
  {
    pattern: /\b(?:widget|embed\w*|public link|share|link|website|script tag)\b/i,
    replies: [
      'An assistant can have a page of its own for the public: `npx parley link create demo --slug hello` puts it at `/p/{slug}`, here `/p/hello`. Visitors talk there without a key, under limits of their own: minutes a day, visitors at a time, messages of a visitor and of an address. With `--widget --origin https://shop.example` it is on that site too, by one script tag, which the command prints; docs/widget.md describes its attributes and commands.',
    ],
  },
  {
    pattern:
      /\bsessions?\b|\bconversations?\b.{0,60}\b(?:work|end|start|open|long|last|create)\b|\bmax_call_seconds\b/i,
    replies: [
      'A session is one conversation with one assistant. `POST /sessions` opens it, `POST /sessions/{id}/chat` sends a message, `POST /sessions/{id}/end` closes it. It runs one turn at a time (a second gets 409 `turn_in_progress`), expires `max_call_seconds` after it was opened, and belongs to no process: any server of the deployment goes on with it.',
    ],
  },
  {
    pattern:
      /\bturns?\b|\b(?:two|several|many|second) messages?\b|\bat the same time\b|\bin parallel\b|\bconcurren\w+/i,
    replies: [
      'A turn is one message of yours and the reply to it. It belongs to the session and not to the connection: it goes on when the client is gone, can be resumed, and can be aborted. One at a time per session.',
    ],
  },
  {
    pattern:
      /\bconsole\b|\badmin\b|\bdashboard\b|\bmanage\b|\b(?:create|make|edit|publish|configure) (?:an |my |the |another |new )*assistants?\b/i,
    replies: [
      'The console at `/console` does it, and shows sessions and keys live on their state charts; `npx parley console` prints a link that signs you in. So does the command `parley`: `parley assistants`, `keys`, `credentials`, `link`, `sessions`, `usage` and `workspaces`, each with its `--help`. Both speak to the API under `/console/api`, which `/openapi.json` describes.',
    ],
  },
  {
    pattern: /\bassistants?\b/i,
    replies: [
      '`GET /assistants` lists the assistants that your key reaches, `GET /assistants/{id}` fetches one. They are made and published by `parley assistants create`. A draft or a disabled one refuses new sessions and turns.',
    ],
  },
  {
    pattern:
      /\b(?:redis|lmdb|database|store[ds]?|storage|data ?base|scal(?:e|ing)|cluster|deploy\w*|production|docker|processes)\b/i,
    replies: [
      'On its own the server keeps everything in an embedded store under `./data`. With `PARLEY_STORE=redis://…` or `redis-cluster://…` any number of processes share one store: any of them serves any session, and limits stay exact across all of them.',
    ],
  },
  {
    pattern: /\b(?:metrics|prometheus|health|healthz|readyz|monitor\w*|observab\w*|logs?|logging)\b/i,
    replies: [
      '`/healthz` and `/readyz` for probes, `/metrics` for Prometheus, and one line of JSON in the log per request with its `request_id`; never a key or the text of a message.',
    ],
  },
  {
    pattern: /\b(?:state ?(?:machines?|charts?)|xstate|actors?|architecture|how is (?:it|this|parley) built)\b/i,
    replies: [
      'Sessions, keys, assistants and workspaces are state machines, each live one an actor that handles one event at a time: it decides, commits to the store, acts, and only then answers. `parley machines` prints the very charts that run.',
    ],
  },
  {
    pattern: /\b(?:retention|privacy|private|delete (?:my |the )?(?:data|session|conversation)|gdpr|personal data)\b/i,
    replies: [
      `Sessions are deleted with all they hold once they are past the workspace’s retention, ${limits.retentionDaysDefault} days after their last activity unless set otherwise. What you tell me stays in this session’s transcript; I send nothing anywhere.`,
    ],
  },
  {
    pattern: /\b(?:sdk|client library|typescript|javascript client|openapi|swagger|docs?|documentation|reference)\b/i,
    replies: [
      '`/docs` shows the API in a browser, every operation with an example. For tools the same is in `/openapi.json`, an OpenAPI 3.1 document made from the validators that run, so a client can be generated from it.',
    ],
  },
  {
    pattern: /\bparley\b|\bthis (?:service|api|server|app|site|project|thing|place)\b|\bwhere am i\b|\bwhat is this\b/i,
    replies: [
      'This is parley, a service that runs conversations with assistants: sessions, streamed replies that survive dropped connections, exact limits, transcripts and usage, behind one HTTP API. I am only the model that it comes with. Ask me about any of these, or “how do I start?”.',
    ],
  },
];

const advice: Readonly<Record<ErrorRow['retry'], string>> = {
  never: 'Sending the same request again does not help.',
  after: 'Wait for as many seconds as `Retry-After` says, then send it again.',
  backoff_thrice: 'Try again with growing, random waits, three times at most.',
  backoff: 'Try again with growing, random waits.',
};

const codes = new Map<string, ErrorRow[]>();
for (const row of Object.values<ErrorRow>(errors)) codes.set(row.code, [...(codes.get(row.code) ?? []), row]);

/** Explains the error code named in a sentence, from the table of errors itself; null if none is named. */
export function codesIn(sentence: string): string | null {
  const code = sentence.match(/\b[a-z]+(?:_[a-z]+)+\b/g)?.find((name) => codes.has(name));
  if (code === undefined) return null;
  const rows = codes.get(code)!;
  const statuses = [...new Set(rows.map(({ status }) => status))].sort((a, b) => a - b).join(' or ');
  const said =
    rows.length > 3
      ? 'Something in the request is wrong, and the message names it.'
      : rows
          .map(({ message }) =>
            message
              .replace(/\{seconds\}/, '…')
              .replace(/\{limit\}/, 'the allowed number of')
              .replace(/\{field\}/, '…'),
          )
          .join(' Or: ');
  return `\`${code}\` comes with status ${statuses}: “${said}” ${advice[rows[0]!.retry]}`;
}
