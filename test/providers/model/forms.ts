/**
 * Answers in the forms that providers and gateways give them, with the events expected of each. The bytes are written
 * to the connection as they stand, so that a form may have any head and any end.
 */
import type { ModelFailure, ModelUsage, ReasoningMode } from '../../../src/providers/model.ts';
import { data, delta, done } from './provider.ts';

export interface Form {
  readonly kind: 'openai' | 'anthropic';
  readonly body: string;
  /** Header lines but for the framing; an event stream's unless it is given. */
  readonly head?: string;
  /** End of the response: clean, unless the connection is cut or left open. */
  readonly then?: 'cut' | 'open';
  readonly reasoning?: ReasoningMode;
  readonly said: string;
  readonly ending: 'end' | ModelFailure;
  readonly usage?: ModelUsage;
}

type Row = readonly [body: string, said: string, ending?: Form['ending'], more?: Partial<Form>];

const typed = (contentType: string): Partial<Form> => ({
  head: contentType === '' ? '' : `content-type: ${contentType}\r\n`,
});
const choice = (fields: object): string => data({ choices: [{ index: 0, ...fields }] });
const finished = delta('Hello', 'stop');
const counted = data({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } });
const usage = { inputTokens: 3, outputTokens: 4 };
const failed = data({ error: { message: 'no' } });
const whole = JSON.stringify({
  object: 'chat.completion',
  choices: [{ message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }],
});

const event = (value: { type: string; [key: string]: unknown }): string =>
  `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`;
const start = event({ type: 'message_start', message: { content: [], usage: { input_tokens: 3, output_tokens: 1 } } });
const block = (content_block: object): string => event({ type: 'content_block_start', index: 0, content_block });
const piece = (text: string): string =>
  event({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } });
const stopping = event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 4 } });
const stop = event({ type: 'message_stop' });
const message = {
  type: 'message',
  role: 'assistant',
  content: [{ type: 'text', text: 'Hello' }],
  stop_reason: 'end_turn',
  usage: { input_tokens: 3, output_tokens: 4 },
};

const openai: Readonly<Record<string, Row>> = {
  // Bytes behind the finish
  'the usual stream': [delta('Hel') + delta('lo', 'stop') + counted + done, 'Hello', 'end', { usage }],
  'finish, then [DONE] with spaces': [`${finished}data:   [DONE]  \n\n`, 'Hello'],
  'finish, then [END]': [`${finished}data: [END]\n\n`, 'Hello'],
  'finish, then [done]': [`${finished}data: [done]\n\n`, 'Hello'],
  'finish, then DONE': [`${finished}data: DONE\n\n`, 'Hello'],
  'finish, then nothing': [finished, 'Hello'],
  'finish, then a cut': [finished, 'Hello', 'end', { then: 'cut' }],
  'finish, usage, then a cut': [finished + counted, 'Hello', 'end', { then: 'cut', usage }],
  'finish, then an unreadable line': [`${finished}data: {"choi\n\n${done}`, 'Hello'],
  'finish, then half a line': [`${finished}data: {"choi`, 'Hello'],
  'finish, then an error object': [finished + failed + done, 'Hello'],
  'finish, then an error event': [`${finished}event: error\ndata: oops\n\n`, 'Hello'],
  'finish, then an error as the reason': [finished + choice({ delta: {}, finish_reason: 'error' }), 'Hello'],
  'finish, then a flood without a line end': [`${finished}data: ${'x'.repeat(4_200_000)}`, 'Hello'],
  'finish, and the connection stays open': [finished, 'Hello', 'end', { then: 'open' }],
  'finish, usage, and the connection stays open': [finished + counted, 'Hello', 'end', { then: 'open', usage }],
  '[DONE], and the connection stays open': [finished + done, 'Hello', 'end', { then: 'open' }],
  'a finish without its blank line': [delta('Hello', 'stop').trimEnd(), 'Hello'],
  'a finish without its blank line, with one line end': [`${delta('Hel')}${delta('lo', 'stop').trimEnd()}\n`, 'Hello'],
  'a finish without its blank line, then a cut': [delta('Hello', 'stop').trimEnd(), '', 'cut', { then: 'cut' }],
  '[DONE] without its blank line': [delta('Hello') + done.trimEnd(), 'Hello'],
  // No finish
  '[END] without a finish': [`${delta('Hello')}data: [END]\n\n`, 'Hello'],
  'text, then a clean end': [delta('Hello'), 'Hello', 'cut'],
  'text, then a cut': [delta('Hello'), 'Hello', 'cut', { then: 'cut' }],
  'text, then an error object': [delta('Hello') + failed, 'Hello', 'provider_error'],
  // No choice
  '[DONE] alone': [done, '', 'malformed'],
  '[END] alone': ['data: [END]\n\n', '', 'malformed'],
  'usage alone': [counted + done, '', 'malformed'],
  'an empty list of choices': [data({ choices: [] }) + done, '', 'malformed'],
  'an error of a form that nobody knows': [data({ detail: 'overloaded', status: 'failed' }) + done, '', 'malformed'],
  'an error of a form that nobody knows, as JSON': [
    JSON.stringify({ detail: 'overloaded' }),
    '',
    'malformed',
    typed('application/json'),
  ],
  'an error by its type': [data({ type: 'error', message: 'overloaded' }) + done, '', 'provider_error'],
  'an empty error beside a choice': [
    data({ error: null, choices: [{ delta: { content: 'Hello' }, finish_reason: 'stop' }] }) + done,
    'Hello',
  ],
  nothing: ['', '', 'cut'],
  'a choice without text, and its finish': [choice({ delta: {}, finish_reason: 'stop' }) + done, ''],
  // Field of the text
  'a refusal': [
    choice({ delta: { refusal: 'I can', content: null } }) +
      choice({ delta: { refusal: 'not.' }, finish_reason: 'stop' }) +
      done,
    'I cannot.',
  ],
  'a message where a delta is due': [
    choice({ message: { content: 'Hel' } }) + choice({ message: { content: 'lo' }, finish_reason: 'stop' }) + done,
    'Hello',
  ],
  'a whole message behind the deltas': [
    delta('Hel') + delta('lo') + choice({ message: { content: 'Hello' }, finish_reason: 'stop' }) + done,
    'Hello',
  ],
  'a delta that is a string': [choice({ delta: 'Hello', finish_reason: 'stop' }) + done, 'Hello'],
  'the text of legacy completions': [
    choice({ text: 'Hel' }) + choice({ text: 'lo', finish_reason: 'stop' }) + done,
    'Hello',
  ],
  'content in parts': [
    choice({
      delta: {
        content: [
          { type: 'text', text: 'Hel' },
          { type: 'output_text', text: 'lo' },
          ' ',
          { text: 'you' },
          { type: 'image' },
          null,
        ],
      },
      finish_reason: 'stop',
    }) + done,
    'Hello you',
  ],
  'content that is one part': [
    choice({ delta: { content: { type: 'text', text: 'Hello' } }, finish_reason: 'stop' }) + done,
    'Hello',
  ],
  'a refusal among parts': [
    choice({ delta: { content: [{ type: 'refusal', refusal: 'No.' }] }, finish_reason: 'stop' }) + done,
    'No.',
  ],
  'content of null': [choice({ delta: { content: null } }) + finished + done, 'Hello'],
  'JSON where a stream was asked for': [whole, 'Hello', 'end', typed('application/json')],
  'JSON of null content': [
    JSON.stringify({ choices: [{ message: { content: null }, finish_reason: 'stop' }] }),
    '',
    'end',
    typed('application/json'),
  ],
  'JSON with a refusal': [
    JSON.stringify({ choices: [{ message: { content: null, refusal: 'No.' } }] }),
    'No.',
    'end',
    typed('application/json'),
  ],
  'JSON of legacy completions': [
    JSON.stringify({ choices: [{ text: 'Hello' }] }),
    'Hello',
    'end',
    typed('application/json'),
  ],
  'JSON with an error as its reason': [
    JSON.stringify({ choices: [{ message: { content: '' }, finish_reason: 'error' }] }),
    '',
    'provider_error',
    typed('application/json'),
  ],
  // The content type, and the body
  'events as application/json': [finished + done, 'Hello', 'end', typed('application/json')],
  'events as text/html': [finished + done, 'Hello', 'end', typed('text/html; charset=utf-8')],
  'events as text/plain': [finished + done, 'Hello', 'end', typed('text/plain')],
  'events as audio/mpeg': [finished + done, 'Hello', 'end', typed('audio/mpeg')],
  'events without a type': [finished + done, 'Hello', 'end', typed('')],
  'events behind a comment, as text/html': [`: hold on\n\n${finished}${done}`, 'Hello', 'end', typed('text/html')],
  'events behind line ends and a mark': [`\n\r\n \ufeff${finished}${done}`, 'Hello'],
  'JSON as text/event-stream': [whole, 'Hello'],
  'JSON behind a mark and white space': [`\ufeff\n\n  ${whole}\n`, 'Hello', 'end', typed('')],
  'JSON as text/html': [whole, 'Hello', 'end', typed('text/html')],
  'an error in JSON as text/event-stream': ['{"error":{"message":"no"}}', '', 'provider_error'],
  'a page': ['<!doctype html><p>Sign in</p>', '', 'malformed', typed('text/html')],
  'a page as text/event-stream': ['\n<html>', '', 'malformed'],
  'a page as application/json': ['<html>', '', 'malformed', typed('application/json')],
  'a sentence': ['Service unavailable', '', 'cut', typed('text/plain')],
  // Events with names
  'a ping that is no JSON': [
    `event: ping\ndata: ping\n\n${delta('Hel')}event: ping\ndata: ping\n\n${delta('lo', 'stop')}${done}`,
    'Hello',
  ],
  'a heartbeat that is a number': [`event: heartbeat\ndata: 17\n\n${finished}${done}`, 'Hello'],
  'an event without data': [`event: ping\ndata:\n\n${finished}${done}`, 'Hello'],
  'a named list': [`event: trace\ndata: [1,2]\n\n${finished}${done}`, 'Hello'],
  'an error event that is no JSON': [`${delta('Hello')}event: error\ndata: oops\n\n`, 'Hello', 'provider_error'],
  'an error event without data': ['event: error\ndata:\n\n', '', 'provider_error'],
  'named chunks': [`event: chunk\n${delta('Hel')}event: chunk\n${delta('lo', 'stop')}${done}`, 'Hello'],
  'a named chunk that is cut short': [
    `${delta('Hello')}event: chunk\ndata: {"choices":[{\n\n${done}`,
    'Hello',
    'malformed',
  ],
  // Reasons
  'the reason "null", then a clean end': [delta('Hello', 'null'), 'Hello', 'cut'],
  'the reason "null" with each piece': [
    delta('Hel', 'null') + delta('lo', 'null') + choice({ delta: {}, finish_reason: 'stop' }),
    'Hello',
  ],
  'an empty reason': [delta('Hello', ''), 'Hello', 'cut'],
  'the reason None': [delta('Hello', 'None'), 'Hello', 'cut'],
  'a reason that is no text': [choice({ delta: { content: 'Hello' }, finish_reason: false }), 'Hello', 'cut'],
  ...Object.fromEntries(
    [
      'eos',
      'eos_token',
      'stop_sequence',
      'model_length',
      'content_filter',
      'length',
      'STOP',
      'tool_calls',
      'abort',
    ].map((reason): [string, Row] => [`the reason ${reason}`, [delta('Hello', reason), 'Hello']]),
  ),
  // Reasoning
  'reasoning in its tags': [
    delta('<think>') + delta('Let me see.') + delta('</think>') + delta('Hel') + delta('lo', 'stop') + done,
    'Hello',
  ],
  'reasoning in one piece': [delta('<think>\nLet me see.\n</think>Hello', 'stop') + done, 'Hello'],
  'reasoning in tags that are cut': [
    [...'  \n<think>a<b</thi</think>Hello'].map((character) => delta(character)).join('') +
      choice({ delta: {}, finish_reason: 'stop' }) +
      done,
    'Hello',
  ],
  'reasoning twice': [delta('<think>a</think>\n<think>b</think>Hello', 'stop') + done, 'Hello'],
  'reasoning that is never closed': [delta('<think>Let me') + delta(' see. Hello', 'length') + done, ''],
  'reasoning, cut in its closing tag': [delta('<think>Let me see.</thi'), '', 'cut', { then: 'cut' }],
  'reasoning, cut in its opening tag': [delta('<thi'), '', 'cut', { then: 'cut' }],
  'an answer that is the beginning of a tag': [delta('<thi', 'stop') + done, '<thi'],
  'another tag': [delta('<th') + delta('ing>Hello', 'stop') + done, '<thing>Hello'],
  'tags within the answer': [delta('Hello <think>you</think>', 'stop') + done, 'Hello <think>you</think>'],
  'white space before an answer': [delta('\n\n') + delta('Hello', 'stop') + done, '\n\nHello'],
  'an answer of white space': [delta(' ') + delta('\n', 'stop') + done, ' \n'],
  'reasoning in a whole answer': [
    JSON.stringify({ choices: [{ message: { content: '<think>a</think>Hello', reasoning_content: 'b' } }] }),
    'Hello',
    'end',
    typed('application/json'),
  ],
  reasoning_content: [
    choice({ delta: { reasoning_content: 'Let me see.', content: null } }) + finished + done,
    'Hello',
  ],
  'reasoning, as a field': [choice({ delta: { reasoning: 'Let me see.', content: '' } }) + finished + done, 'Hello'],
  'reasoning among parts': [
    choice({
      delta: {
        content: [
          { type: 'thinking', thinking: [{ type: 'text', text: 'a' }] },
          { type: 'text', text: 'Hello' },
        ],
      },
      finish_reason: 'stop',
    }) + done,
    'Hello',
  ],
  'reasoning alone': [choice({ delta: { reasoning_content: 'Let me see.' }, finish_reason: 'length' }) + done, ''],
  'shown: reasoning in its tags': [
    delta(' <think>a') + delta('</think>Hello', 'stop') + done,
    ' <think>a</think>Hello',
    'end',
    { reasoning: 'shown' },
  ],
  'shown: reasoning_content': [
    choice({ delta: { reasoning_content: 'a' } }) + choice({ delta: { reasoning_content: 'b' } }) + finished + done,
    '<think>ab</think>Hello',
    'end',
    { reasoning: 'shown' },
  ],
  'shown: reasoning alone': [
    choice({ delta: { reasoning: 'a', reasoning_content: 'a' }, finish_reason: 'length' }) + done,
    '<think>a</think>',
    'end',
    { reasoning: 'shown' },
  ],
  // Heads
  'one length twice': [
    whole,
    'Hello',
    'end',
    { head: `content-length: ${whole.length}\r\ncontent-length: ${whole.length}\r\n` },
  ],
  'a list of one length': [whole, 'Hello', 'end', { head: `content-length: ${whole.length}, ${whole.length}\r\n` }],
  'a folded line': [
    finished + done,
    'Hello',
    'end',
    { head: 'x-trace: a\r\n  b\r\ncontent-type: text/\r\n\tevent-stream\r\n' },
  ],
  // Line ends
  CRLF: [(delta('Hel') + delta('lo', 'stop') + done).replaceAll('\n', '\r\n'), 'Hello'],
  CR: [(delta('Hel') + delta('lo', 'stop') + done).replaceAll('\n', '\r'), 'Hello'],
  'CR, and the connection stays open': [
    (delta('Hel') + delta('lo', 'stop') + done).replaceAll('\n', '\r'),
    'Hello',
    'end',
    { then: 'open' },
  ],
};

const anthropic: Readonly<Record<string, Row>> = {
  'the usual stream': [
    start + block({ type: 'text', text: '' }) + piece('Hel') + piece('lo') + stopping + stop,
    'Hello',
    'end',
    { usage },
  ],
  '[DONE] in place of message_stop': [start + piece('Hello') + stopping + done, 'Hello', 'end', { usage }],
  '[DONE] behind message_stop': [start + piece('Hello') + stopping + stop + done, 'Hello'],
  '[DONE] without a stop reason': [start + piece('Hello') + done, 'Hello'],
  'finish, then a cut': [start + piece('Hello') + stopping, 'Hello', 'end', { then: 'cut' }],
  'finish, then an error event': [
    `${start}${piece('Hello')}${stopping}${event({ type: 'error', error: { type: 'overloaded_error' } })}`,
    'Hello',
  ],
  'finish, then an unreadable line': [`${start}${piece('Hello')}${stopping}data: {"ty\n\n`, 'Hello'],
  'finish, and the connection stays open': [start + piece('Hello') + stopping, 'Hello', 'end', { then: 'open', usage }],
  'a finish without its blank line': [start + piece('Hello') + stopping.trimEnd(), 'Hello'],
  '[DONE] alone': [done, '', 'malformed'],
  'an error of a form that nobody knows': [data({ detail: 'overloaded' }) + done, '', 'malformed'],
  'an error in the form of others': [failed, '', 'provider_error'],
  'text in content_block_start': [
    start + block({ type: 'text', text: 'Hel' }) + piece('lo') + stopping + stop,
    'Hello',
  ],
  'text in message_start': [
    event({ type: 'message_start', message: { content: [{ type: 'text', text: 'Hel' }] } }) +
      piece('lo') +
      stopping +
      stop,
    'Hello',
  ],
  'a delta without its type': [
    start + event({ type: 'content_block_delta', delta: { text: 'Hello' } }) + stopping + stop,
    'Hello',
  ],
  'a whole message as one event': [event(message), 'Hello', 'end', { usage }],
  'JSON where a stream was asked for': [
    JSON.stringify(message),
    'Hello',
    'end',
    { ...typed('application/json'), usage },
  ],
  'JSON as text/event-stream': [JSON.stringify(message), 'Hello'],
  'JSON of null content': [JSON.stringify({ ...message, content: null }), '', 'end', typed('application/json')],
  'events as application/json': [start + piece('Hello') + stopping + stop, 'Hello', 'end', typed('application/json')],
  'a ping that is no JSON': [`${start}event: ping\ndata: ping\n\n${piece('Hello')}${stopping}${stop}`, 'Hello'],
  'a ping without data': [`${start}event: ping\ndata:\n\n${piece('Hello')}${stopping}${stop}`, 'Hello'],
  'the reason "null"': [
    start + piece('Hello') + event({ type: 'message_delta', delta: { stop_reason: 'null' } }),
    'Hello',
    'cut',
  ],
  'the reason refusal, without text': [
    start + event({ type: 'message_delta', delta: { stop_reason: 'refusal' } }) + stop,
    '',
  ],
  thinking: [
    start +
      block({ type: 'thinking', thinking: '' }) +
      event({ type: 'content_block_delta', delta: { type: 'thinking_delta', thinking: 'Let me see.' } }) +
      block({ type: 'text', text: '' }) +
      piece('Hello') +
      stopping +
      stop,
    'Hello',
  ],
  'shown: thinking': [
    start +
      event({ type: 'content_block_delta', delta: { type: 'thinking_delta', thinking: 'a' } }) +
      piece('Hello') +
      stopping +
      stop,
    '<think>a</think>Hello',
    'end',
    { reasoning: 'shown' },
  ],
  'reasoning in its tags': [start + piece('<think>a</th') + piece('ink>Hello') + stopping + stop, 'Hello'],
};

const formsOf = (kind: Form['kind'], rows: Readonly<Record<string, Row>>): (readonly [string, Form])[] =>
  Object.entries(rows).map(([name, [body, said, ending = 'end', more]]) => [
    `${kind}: ${name}`,
    { kind, body, said, ending, ...more },
  ]);

export const forms: ReadonlyMap<string, Form> = new Map([
  ...formsOf('openai', openai),
  ...formsOf('anthropic', anthropic),
]);

/** The whole answer; an open or cut one has no end marker. */
export function bytesOf({ body, head = 'content-type: text/event-stream; charset=utf-8\r\n', then }: Form): Buffer {
  const bytes = Buffer.from(body);
  const begun = `HTTP/1.1 200 OK\r\n${head}`;
  if (head.includes('content-length')) return Buffer.from(`${begun}\r\n${body}`);
  const chunk = bytes.length === 0 ? '' : `${bytes.length.toString(16)}\r\n${bytes.toString('latin1')}\r\n`;
  return Buffer.from(
    `${begun}transfer-encoding: chunked\r\n\r\n${chunk}${then === undefined ? '0\r\n\r\n' : ''}`,
    'latin1',
  );
}
