/**
 * The records that the examples show: one workspace with one assistant, one key and one conversation. Times are Unix
 * seconds.
 */

const startedAt = 1_790_000_000;

export const ids = {
  workspace: 'wks_1m2zf68c00gk4c3jc33x8wmwnw',
  person: 'prs_1m2zf9c3008q2v7n4h6w0t5xra',
  audit: 'aud_1m2zj3k40064d8s1x9p7c2vbne',
  credential: 'crd_1m2zg4ry00ttkcvsnayfkme03w',
  tool: 'tool_1m2zg9xk00vd3hb6y8t4r2qnwz',
  webhook: 'whk_1m2zgb4c00wq5s8e1k7n3dxyvt',
  delivery: 'dlv_1m3251ak60h4s9x2c8e7r5tbvn',
  test: 'tst_1m3252bk60h4s9x2c8e7r5tbvn',
  run: 'run_1m3253ck60h4s9x2c8e7r5tbvn',
  call: 'call_1m32516t60c9k4p7s1xv3hbydq',
  assistant: 'asst_1m2zh39g00g8qam2dt63gvfcq3',
  key: 'key_1m2zj1t200sr4hjbyas65hq14q',
  rotatedKey: 'key_1m3fp0wb40c8y2v6n1tq9drj5z',
  session: 'ses_1m3250v0001v4b6xrbhrv23839',
  turn: 'turn_1m32516t40trgsrqq8p5sxvm25',
  linkSession: 'ses_1m3250v0002w4b6xrbhrv23840',
  linkTurn: 'turn_1m32516t41trgsrqq8p5sxvm26',
  visitor: 'vis_1m3250tz00c7c8q2y5n9dz4k1w',
  greeting: 'msg_1m3250v00058fwps2v2rkanb8p',
  question: 'msg_1m32516t40xjpa5krd3xrfqvbg',
  reply: 'msg_1m32516te0n1n8t98k75d94da3',
  signIn: 'sin_1m3fq2k7g08h4s9w3xv5jb1ncd',
  token: 'tok_hV3kq0b7Yy1nW5mXo9TzC2uJ-sRfA8LdGg4eKp6wQxE',
} as const;

/** The name of the assistant's public link. */
export const slug = 'support';
/** The token of a sign-in link. */
export const signInToken = 'pT4uV9qLr1xK0sYd7mWc2GfZbN8eHjA6oQiRl3tUy5E';
export const personName = 'Ada';

export const visitor = { email: 'ada@example.com' };
export const metadata = { order: '1042' };
export const idempotencyKey = 'order-1042-first-question';

const greeting = 'Hello. How can I help?';
export const question = 'When are you open?';
export const reply = 'We are open from 9:00 to 18:00, Monday to Friday.';

export const workspace = {
  id: ids.workspace,
  object: 'workspace',
  name: 'Shop',
  retention_days: 30,
  turns_in_flight_max: 10,
  created_at: startedAt - 90_000,
  updated_at: startedAt - 90_000,
};

export const assistant = {
  id: ids.assistant,
  object: 'assistant',
  name: 'Support',
  description: 'Answers questions about orders and opening hours.',
  status: 'published',
  greeting,
  channels: { voice: true, link: false, widget: false },
  visitor_fields: [{ name: 'email', label: 'Your e-mail address', type: 'email', required: true }],
  max_call_seconds: 3600,
  version: 4,
  created_at: startedAt - 88_000,
  updated_at: startedAt - 87_500,
};

export const settings = {
  model: {
    provider: 'openai',
    name: 'gpt-4.1-mini',
    credential_id: ids.credential,
    system_prompt: 'You answer for a bicycle shop. Be brief.',
    temperature: 0.2,
    history_tokens_max: 8000,
    output_tokens_max: 1024,
    reasoning: 'hidden',
    fallbacks: [],
  },
  voice: null,
  link: null,
  tool_ids: [],
  tool_rounds_max: 8,
  alias: 'support',
  session_policy: 'pin',
  require_tests: false,
};

/** The assistant that operators see: with the settings that are never shown to an API key. */
export const configured = {
  ...assistant,
  ...settings,
  desk: {
    enabled: true,
    wait_seconds: 120,
    while_waiting: 'assistant',
    texts: { waiting: null, joined: '{{person.name}} is here.', left: null, nobody: 'Nobody is free at the moment.' },
  },
  draft: { digest: 'Wq0Wn9pZ3nQ6v0mXb6m1k0Yc2hA', changed: false },
  candidate: null,
};
export const draft = { ...configured, status: 'draft', updated_at: assistant.created_at };

export const key = {
  id: ids.key,
  object: 'key',
  name: 'web shop',
  hint: `ak_${ids.key.slice('key_'.length)}_…`,
  status: 'active',
  assistant_ids: [ids.assistant],
  limits: { requests: 120, speech: 30, transcription_tokens: 10, tokens_per_day: null },
  created_at: startedAt - 87_000,
  expires_at: null,
  revoked_at: null,
  last_used_at: startedAt + 40,
  budgets: {
    requests: { limit: 120, remaining: 118, reset: startedAt + 96 },
    speech: { limit: 30, remaining: 30, reset: startedAt + 95 },
    transcription_tokens: { limit: 10, remaining: 10, reset: startedAt + 95 },
  },
};
const fullBudget = (limit: number, at: number) => ({ limit, remaining: limit, reset: at });
/** The fields of a key that no request has used. */
const unused = (at: number, requests = 120) => ({
  last_used_at: null,
  budgets: { requests: fullBudget(requests, at), speech: fullBudget(30, at), transcription_tokens: fullBudget(10, at) },
});
export const newKey = { ...key, ...unused(key.created_at) };
/** With a ceiling of 240 requests. */
export const raised = {
  limits: { ...key.limits, requests: 240 },
  budgets: { ...key.budgets, requests: { limit: 240, remaining: 118, reset: startedAt + 126 } },
};
/** The checksum is a wrong one: no key of any installation looks like this. */
export const secret = `ak_${ids.key.slice('key_'.length)}_730v25aft1g0dh9y1fwfj2tq1xvv0ekf000000`;

/** The key that replaces it. */
export const rotatedKey = {
  ...key,
  ...unused(startedAt + 500_000, 240),
  id: ids.rotatedKey,
  hint: `ak_${ids.rotatedKey.slice('key_'.length)}_…`,
  created_at: startedAt + 500_000,
  limits: raised.limits,
};
export const rotatedSecret = `ak_${ids.rotatedKey.slice('key_'.length)}_51wd9m0xh3c7n8qz2tbk6ry4ep8vaf70000000`;

export const credential = {
  id: ids.credential,
  object: 'credential',
  name: 'main',
  kind: 'model',
  provider: 'openai',
  base_url: 'https://api.example.com/v1',
  created_at: startedAt - 89_000,
  updated_at: startedAt - 89_000,
};

export const webhook = {
  id: ids.webhook,
  object: 'webhook',
  url: 'https://crm.example.com/parley',
  events: ['turn.completed', 'session.expired'],
  enabled: true,
  created_at: startedAt - 80_000,
  updated_at: startedAt - 80_000,
};

export const delivery = {
  id: ids.delivery,
  object: 'webhook_delivery',
  type: 'turn.completed',
  status: 'pending',
  attempts: 1,
  next_at: startedAt + 65,
};

export const tool = {
  id: ids.tool,
  object: 'tool',
  kind: 'http',
  name: 'Orders',
  url: 'https://orders.example.com/call',
  credential_id: null,
  timeout_seconds: 20,
  repeatable: false,
  approval: 'never',
  show: 'name',
  calls_per_minute: null,
  disabled: false,
  functions: [
    {
      name: 'look_up_order',
      description: 'Says where an order is.',
      parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
      enabled: true,
      approval: null,
      show: null,
      quarantined: null,
    },
  ],
  refreshed_at: null,
  refresh_error: null,
  digest: '2zCaWgVBzVbuCSTTXyGtlGrDRUH',
  created_at: startedAt - 88_500,
  updated_at: startedAt - 88_500,
};
export const signingSecret = 'whsec_c2VjcmV0IG9mIHRoZSBleGFtcGxlcyE=';

export const session = {
  id: ids.session,
  object: 'session',
  assistant_id: ids.assistant,
  status: 'open',
  active_turn_id: null,
  active_call_id: null,
  pending_tool_calls: [],
  channel: 'api',
  visitor,
  visitor_verified: false,
  visitor_id: null,
  metadata,
  max_call_seconds: 3600,
  assistant_version: 4,
  attendance: { state: 'assistant', since: startedAt, person: null },
  created_at: startedAt,
  expires_at: startedAt + 3600,
  ended_at: null,
};
export const trial = { ...session, channel: 'console', visitor: {}, metadata: {}, assistant_version: null };
const loadStep = {
  start: startedAt,
  requests: 214,
  refused: 3,
  turns_in_flight: 12,
  open_calls: 2,
  events: 4380,
  first_output_p50_ms: 312.4,
  first_output_p99_ms: 1180.9,
  voice_to_voice_p50_ms: 588.1,
  voice_to_voice_p99_ms: 861.6,
  loop_lag_ms: 0.6,
  memory_bytes: 142_606_336,
  store_ms: 0.412,
};
export const load = {
  object: 'load',
  step_seconds: 5,
  data: [
    loadStep,
    {
      ...loadStep,
      start: startedAt + 5,
      requests: 9,
      refused: 0,
      events: 44,
      first_output_p50_ms: null,
      first_output_p99_ms: null,
      voice_to_voice_p50_ms: null,
      voice_to_voice_p99_ms: null,
    },
  ],
};

/** The session in the console's list with `first_words=true`. */
export const listedSession = { ...session, first_words: 'Where is my order?' };

/** A session that waits for a person, and one that a person has. */
export const waitingSession = {
  ...session,
  attendance: { state: 'waiting', since: startedAt + 40, person: null },
};
export const takenSession = {
  ...session,
  attendance: { state: 'person', since: startedAt + 62, person: { name: 'Anna' } },
};
export const endedSession = { ...session, status: 'ended', ended_at: startedAt + 95 };
export const endedTrial = { ...trial, status: 'ended', ended_at: startedAt + 95 };

export const turn = {
  id: ids.turn,
  object: 'turn',
  session_id: ids.session,
  message_id: ids.reply,
  status: 'aborted',
  stop_reason: 'aborted',
  error_code: null,
  feedback: null,
  assistant_version: 4,
  created_at: startedAt + 12,
  ended_at: startedAt + 13,
};

export const ratedTurn = {
  ...turn,
  status: 'completed',
  stop_reason: 'end',
  feedback: { rating: 'up', comment: 'That helped.', at: startedAt + 40 },
};

const completed = { status: 'completed', error_code: null };
const said = (
  id: string,
  turnId: string | null,
  role: string,
  content: string,
  stopReason: string | null,
  seconds: number,
) => ({
  id,
  object: 'message',
  turn_id: turnId,
  role,
  content,
  ...completed,
  stop_reason: stopReason,
  voice: null,
  tool_calls: [],
  feedback: null,
  visitor_verified: false,
  visitor_id: null,
  assistant_version: role === 'assistant' ? 4 : null,
  created_at: startedAt + seconds,
});
export const messages = [
  said(ids.greeting, null, 'assistant', greeting, null, 0),
  said(ids.question, ids.turn, 'user', question, null, 12),
  said(ids.reply, ids.turn, 'assistant', reply, 'end', 12),
];

export const markdown = `# Session ${ids.session}

Begun 2026-09-21 14:13:20 UTC with the assistant ${ids.assistant}, channel api.

## Assistant · 2026-09-21 14:13:20 UTC

> ${greeting}

## Visitor · 2026-09-21 14:13:32 UTC

> ${question}

## Assistant · 2026-09-21 14:13:32 UTC

> ${reply}
`;

/** The end of the reply's stream, and the whole of it. */
export const restOfStream = `event: message.delta
id: 49
data: {"text":" Monday to Friday."}

event: turn.completed
id: 49
data: {"turn_id":"${ids.turn}","message_id":"${ids.reply}","stop_reason":"end","usage":{"input_tokens":38,"output_tokens":13,"cached_input_tokens":0}}

`;
export const wholeStream = `event: turn.started
id: 0
data: {"turn_id":"${ids.turn}","message_id":"${ids.reply}"}

event: message.delta
id: 31
data: {"text":"We are open from 9:00 to 18:00,"}

${restOfStream}`;

/** A message of a person of the desk. */
export const personMessage = {
  ...said('msg_01k5q2f3b7sn4e0c8v1x6h9trd', null, 'person', 'Hello, this is Anna.', null, 70),
  by: { name: 'Anna' },
};

const counts = {
  sessions: 1,
  turns: 1,
  failed_turns: 0,
  input_tokens: 38,
  output_tokens: 13,
  speech_characters: 0,
  transcription_seconds: 0,
  tool_calls: 0,
  cached_input_tokens: 0,
  feedback_up: 0,
  feedback_down: 0,
  person_messages: 0,
  handovers: 0,
};
const nothing = {
  sessions: 0,
  turns: 0,
  failed_turns: 0,
  input_tokens: 0,
  output_tokens: 0,
  speech_characters: 0,
  transcription_seconds: 0,
  tool_calls: 0,
  cached_input_tokens: 0,
  feedback_up: 0,
  feedback_down: 0,
  person_messages: 0,
  handovers: 0,
};

/** Two days, the first of them without a conversation. */
export const usageWindow = { start: 1_789_862_400, end: 1_790_035_200 };
export const usage = {
  object: 'usage',
  ...usageWindow,
  bucket: 'day',
  data: [
    { start: usageWindow.start, ...nothing },
    { start: usageWindow.start + 86_400, ...counts },
  ],
  totals: counts,
};

export const usageCsv = `start,sessions,turns,failed_turns,input_tokens,output_tokens,speech_characters,transcription_seconds,tool_calls,cached_input_tokens,feedback_up,feedback_down,person_messages,handovers\r
${usageWindow.start},0,0,0,0,0,0,0,0,0,0,0,0,0\r
${usageWindow.start + 86_400},1,1,0,38,13,0,0,0,0,0,0,0,0\r
`;

export const transcriptionToken = {
  object: 'transcription_token',
  token: ids.token,
  url: `wss://parley.example.com/transcription?token=${ids.token}`,
  expires_at: startedAt + 110,
};

export const callToken = {
  object: 'call_token',
  token: ids.token,
  url: `wss://parley.example.com/call?token=${ids.token}`,
  expires_at: startedAt + 110,
};

/** Some of the voices that the embedded provider offers. */
export const voices = [
  { id: 'slt', object: 'voice', name: 'Slt, a woman from the United States', language: 'en-US', sample_rate: 16_000 },
  { id: 'awb', object: 'voice', name: 'Awb, a man from Scotland', language: 'en-GB', sample_rate: 16_000 },
];

/** The rest of a session's stream, from the start of its turn on. */
export const sessionStream = `event: turn.started
id: 3
data: ${JSON.stringify({ turn_id: ids.turn, message_id: messages[2]!.id })}

event: message.created
id: 4
data: ${JSON.stringify(messages[2])}

event: turn.ended
id: 5
data: ${JSON.stringify({ turn_id: ids.turn, status: 'completed' })}

event: session.ended
id: 6
data: ${JSON.stringify({ status: 'ended' })}

`;
