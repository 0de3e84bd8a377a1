/**
 * A strict provider: refuses as the real one does, and else answers as the synthetic model would that the request
 * names, or that its last message asks for.
 */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock, Timer } from '../../../src/base/clock.ts';
import type { ModelMessage, ModelRequest, ModelUsage } from '../../../src/providers/model.ts';
import { parseSynthetic, syntheticModel } from '../../../src/providers/model/synthetic.ts';
import { eventStream, keepsConnections } from '../model/provider.ts';
import type { Hooks } from '../model/provider.ts';
import { strictModes, type MadeCall, type StrictMode, type StrictName } from './modes.ts';
import type { Issued } from './rules.ts';

export interface StrictProvider {
  readonly name: StrictName;
  readonly kind: StrictMode['kind'];
  /** The base URL, with its `/v1`. */
  readonly baseUrl: string;
  /** The bodies of all requests. */
  readonly requests: any[];
  /** The refusals, in the provider's words. */
  readonly refused: string[];
  /**
   * Asked for each request that is taken: after how many bytes of its answer the connection is cut; null: it is not.
   */
  cutAfter: (body: any) => number | null;
}

/** Timers of the process itself: a model that takes its time, takes real time. */
const clock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (ms, callback): Timer => {
    const timer = ms <= 0 ? setImmediate(callback) : setTimeout(callback, ms);
    return { cancel: () => (clearImmediate(timer as NodeJS.Immediate), clearTimeout(timer as NodeJS.Timeout)) };
  },
} as Clock;

/** `isSilent`: it refuses without a reason. */
export async function strictProvider(t: Hooks, name: StrictName, { isSilent = false } = {}): Promise<StrictProvider> {
  const mode: StrictMode = strictModes[name];
  const issued: Issued = { signatures: new Set(), details: [], thoughts: [] };
  let rounds = 0;
  const server = createServer(keepsConnections, (request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    request.on('end', () => {
      const body = JSON.parse(text);
      // A request without messages is of another test, whose server had this port before.
      if (!Array.isArray(body.messages)) return void response.writeHead(404).end();
      self.requests.push(body);
      const refusal = mode.rule(body, issued);
      if (refusal === null) return answer(mode, body, issued, () => ++rounds, cutting(response, self.cutAfter(body)));
      self.refused.push(refusal.body);
      response
        .writeHead(refusal.status, { 'content-type': 'application/json' })
        .end(isSilent ? '{"error":{"message":"Bad Request"}}' : refusal.body);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(async () => {
    server.closeAllConnections();
    server.close();
  });
  const self: StrictProvider = {
    name,
    kind: mode.kind,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests: [],
    refused: [],
    cutAfter: () => null,
  };
  return self;
}

interface Out {
  write(text: string): void;
  end(): void;
}

function cutting(response: ServerResponse, bytes: number | null): Out {
  let left = bytes ?? Infinity;
  response.on('error', () => {}).writeHead(200, eventStream);
  return {
    write(text) {
      const piece = Buffer.from(text).subarray(0, left);
      left -= piece.length;
      response.write(piece);
      if (left <= 0) response.destroy();
    },
    end: () => response.end(),
  };
}

/** Answers as the synthetic model does. */
function answer(mode: StrictMode, body: any, issued: Issued, number: () => number, out: Out): void {
  const calls: MadeCall[] = [];
  let usage: ModelUsage = { inputTokens: 1, outputTokens: 1 };
  const speech = mode.kind === 'openai' ? openaiSpeech(out) : anthropicSpeech(out);
  syntheticModel(clock).start(asked(body), {
    text: (piece) => speech.text(piece),
    usage: (counted) => (usage = counted),
    call: (call) => calls.push(call),
    end: () => speech.end(calls.length === 0 ? [] : mode.spell({ calls, number: number(), issued }), usage),
    failed: () => out.end(),
  });
}

/**
 * `call NAME N times`, `… for ever` and `… badly` in the last message of the user, where the model's name is no
 * synthetic one.
 */
const command = /call (\S+) (\d) times( for ever| badly)?/;

function asked(body: any): ModelRequest {
  const messages = neutral(body);
  const last = messages.findLast(({ role }) => role === 'user')?.content ?? '';
  const [, meant, count, how] = command.exec(last) ?? [];
  const tools = (body.tools ?? []).map((tool: any) => ({
    name: (tool.name ?? tool.function.name) as string,
    description: null,
    parameters: tool.input_schema ?? tool.function.parameters,
  }));
  // A function may be offered under another name, which contains the beginning of its name.
  const names = tools.map(({ name }: { name: string }) => name) as string[];
  const name =
    meant && (names.find((one) => one === meant) ?? names.find((one) => one.includes(meant.slice(0, 40))) ?? meant);
  const made =
    name === undefined
      ? 'tokens=3'
      : `call=${name},calls=${count},tokens=3${how === ' for ever' ? ',call_rounds=100' : ''}${how === ' badly' ? ',call_bad=1' : ''}`;
  return {
    name: typeof parseSynthetic(body.model) === 'string' ? made : body.model,
    systemPrompt: null,
    messages,
    tools,
    temperature: null,
    outputTokensMax: null,
    reasoning: 'hidden',
    baseUrl: null,
    apiKey: null,
    assistantName: '',
  };
}

/** The messages as the synthetic model looks at them: who speaks, and where a round calls. */
function neutral(body: any): ModelMessage[] {
  return body.messages.flatMap(({ role, content, tool_calls: calls }: any): ModelMessage[] => {
    const blocks: any[] = Array.isArray(content) ? content : [];
    const text = Array.isArray(content)
      ? blocks
          .filter(({ type }) => type === 'text')
          .map((block) => block.text)
          .join('')
      : (content ?? '');
    const hasToolCalls = (calls?.length ?? 0) > 0 || blocks.some(({ type }) => type === 'tool_use');
    if (role === 'tool' || (role === 'user' && text === '' && blocks.length > 0))
      return [{ role: 'tool', callId: '', content: text }];
    if (role === 'system') return [];
    return [{ role, content: text, ...(hasToolCalls && { calls: [] }) }];
  });
}

interface Speech {
  text(piece: string): void;
  /** `calls`: as the mode spells them. */
  end(calls: object[], usage: ModelUsage): void;
}

function openaiSpeech(out: Out): Speech {
  const chunk = (delta: object, finish: string | null = null): void =>
    out.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`);
  return {
    text: (content) => chunk({ content }),
    end(calls, { inputTokens, outputTokens }) {
      for (const delta of calls) chunk(delta);
      chunk({}, calls.length === 0 ? 'stop' : 'tool_calls');
      out.write(
        `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: inputTokens, completion_tokens: outputTokens } })}\n\ndata: [DONE]\n\n`,
      );
      out.end();
    },
  };
}

function anthropicSpeech(out: Out): Speech {
  let index = -1;
  const event = (type: string, fields: object): void =>
    out.write(`event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`);
  const block = (start: object, deltas: readonly object[]): void => {
    index++;
    event('content_block_start', { index, content_block: start });
    for (const delta of deltas) event('content_block_delta', { index, delta });
    event('content_block_stop', { index });
  };
  event('message_start', {
    message: { type: 'message', role: 'assistant', content: [], usage: { input_tokens: 1, output_tokens: 1 } },
  });
  return {
    text(text) {
      if (index < 0) event('content_block_start', { index: (index = 0), content_block: { type: 'text', text: '' } });
      event('content_block_delta', { index, delta: { type: 'text_delta', text } });
    },
    end(calls, { inputTokens, outputTokens }) {
      for (const { type, ...fields } of calls as any[]) {
        if (type === 'thinking')
          block({ type, thinking: '', signature: '' }, [
            { type: 'thinking_delta', thinking: fields.thinking },
            { type: 'signature_delta', signature: fields.signature },
          ]);
        else
          block({ type, id: fields.id, name: fields.name, input: {} }, [
            { type: 'input_json_delta', partial_json: fields.input },
          ]);
      }
      event('message_delta', {
        delta: { stop_reason: calls.length === 0 ? 'end_turn' : 'tool_use' },
        usage: { input_tokens: inputTokens, output_tokens: outputTokens },
      });
      event('message_stop', {});
      out.end();
    },
  };
}
