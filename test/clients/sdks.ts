/** The AI SDK, LangChain and OpenAI's agents, with nothing changed but URL, key and model (contract 14). */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { createOpenResponses } from '@ai-sdk/open-responses';
import { tool as langchainTool } from '@langchain/core/tools';
import { ChatOpenAI } from '@langchain/openai';
import {
  generateText,
  jsonSchema,
  Output,
  stepCountIs,
  streamText,
  tool,
  type LanguageModel,
  type ModelMessage,
} from 'ai';
import type { Test } from 'tap';
import { installedAside } from '../client/aside.ts';
import type { House } from '../api/house.ts';
import { done, eventStream } from '../providers/model/provider.ts';
import { answered, onProvider, synthetic, transcriptOf, until } from '../api/talk.ts';
import { lastSession, look } from './openai.ts';

const said = 'word word word ';
const lastMessage = async (house: House, assistantId: string): Promise<any> =>
  (await transcriptOf(house, (await lastSession(house, assistantId)).id)).at(-1);

/** The provider that the AI SDK's own pages begin with. */
export const aiSdkOpenai = await installedAside('@ai-sdk/openai', '3.0.141');

/** With its default model, which asks for responses and refers to earlier items by their ids; and with its others. */
export async function aiSdkDefault(t: Test, house: House): Promise<void> {
  const { createOpenAI } = await import(aiSdkOpenai.entry!);
  const openai = createOpenAI({ baseURL: `${house.url}/v1`, apiKey: house.key });
  for (const [way, model] of [
    ['by default', openai],
    ['chat completions', openai.chat],
  ] as const) {
    await t.test(way, (t) => aiSdkOn(t, house, (id) => model(id)));
    await t.test(`${way}, ten turns`, (t) => turnsOn(t, house, (id) => model(id)));
    await t.test(`${way}, a form of the answer`, (t) => formOn(t, house, (id) => model(id)));
  }
}

/** Each turn sends all that came before, as the SDK has written it down. */
async function turnsOn(t: Test, house: House, model: (id: string) => LanguageModel): Promise<void> {
  const { id } = await synthetic(house, 'call=look,tokens=3');
  const looks = tool({
    description: look.description,
    inputSchema: jsonSchema<{ order: string }>(look.parameters as object),
    execute: () => 'seen',
  });
  const messages: ModelMessage[] = [];
  for (let turn = 0; turn < 10; turn++) {
    messages.push({ role: 'user', content: `question ${turn}` });
    const isStreamed = turn % 2 === 1;
    const asked = { model: model(id), messages, tools: { look: looks }, stopWhen: stepCountIs(3) };
    const { text, response } = isStreamed ? await wholeOf(streamText(asked)) : await generateText(asked);
    t.equal(text, said, `turn ${turn}`);
    messages.push(...response.messages);
  }
  t.equal(messages.length, 40, 'a question, a call, its result and an answer for each turn');
}

interface StreamedTurn {
  consumeStream(): PromiseLike<void>;
  readonly text: PromiseLike<string>;
  readonly response: PromiseLike<{ messages: ModelMessage[] }>;
}

async function wholeOf(stream: StreamedTurn): Promise<{ text: string; response: { messages: ModelMessage[] } }> {
  await stream.consumeStream();
  return { text: await stream.text, response: await stream.response };
}

/** A form that the provider of the assistant's model has reaches it; one that it does not have is refused. */
async function formOn(t: Test, house: House, model: (id: string) => LanguageModel): Promise<void> {
  const schema = jsonSchema<{ city: string }>({
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  });
  const { provider, assistant } = await onProvider(t, house, (response) => answered(response, ['{"city":', '"Ulm"}']));
  const { output } = await generateText({
    model: model(assistant.id),
    prompt: 'Where?',
    output: Output.object({ schema }),
  });
  t.same(output, { city: 'Ulm' });
  t.match(provider.requests.at(-1)!.body.response_format, {
    type: 'json_schema',
    json_schema: { schema: { required: ['city'] } },
  });
  const { id } = await synthetic(house, 'tokens=3');
  await t.rejects(
    generateText({ model: model(id), prompt: 'Where?', output: Output.object({ schema }), maxRetries: 0 }),
    { statusCode: 400, message: /is not taken/ },
  );
}

/** Both ways of the AI SDK to a model. */
export async function aiSdk(t: Test, house: House): Promise<void> {
  const chat = createOpenAICompatible({
    name: 'parley',
    baseURL: `${house.url}/v1`,
    apiKey: house.key,
    includeUsage: true,
  });
  const responses = createOpenResponses({ name: 'parley', url: `${house.url}/v1/responses`, apiKey: house.key });
  for (const [way, model] of [
    ['chat completions', chat],
    ['responses', responses],
  ] as const)
    await t.test(way, (t) => aiSdkOn(t, house, (id) => model(id)));
  const { id } = await synthetic(house, 'tokens=3');
  for (const prompt of ['Hi', 'More'])
    await generateText({ model: chat(id), prompt, headers: { 'X-Conversation-Id': 'ai' } });
  t.equal((await transcriptOf(house, (await lastSession(house, id)).id)).length, 4, 'a conversation that goes on');
}

async function aiSdkOn(t: Test, house: House, model: (id: string) => LanguageModel): Promise<void> {
  const { id } = await synthetic(house, 'tokens=3');
  const whole = await generateText({ model: model(id), system: 'Be brief.', prompt: 'Hi' });
  t.match([whole.text, whole.finishReason, whole.usage.outputTokens], [said, 'stop', 3]);
  const streamed = streamText({
    model: model(id),
    messages: [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Yes?' },
      { role: 'user', content: 'More' },
    ],
  });
  let text = '';
  for await (const delta of streamed.textStream) text += delta;
  t.match([text, (await streamed.usage).outputTokens], [said, 3]);

  const calls = await synthetic(house, 'call=look,tokens=3');
  const asked: unknown[] = [];
  const looks = tool({
    description: look.description,
    inputSchema: jsonSchema<{ order: string }>(look.parameters as object),
    execute: (given) => (asked.push(given), 'seen'),
  });
  const loop = await generateText({
    model: model(calls.id),
    prompt: 'Hi',
    tools: { look: looks },
    stopWhen: stepCountIs(3),
  });
  t.same([loop.text, loop.steps.length, asked], [said, 2, [{ order: 'word' }]]);
  const streamedLoop = streamText({
    model: model(calls.id),
    prompt: 'Hi',
    tools: { look: looks },
    stopWhen: stepCountIs(3),
  });
  t.equal((await streamedLoop.steps).at(-1)!.text, said);

  const fails = await synthetic(house, 'tokens=5,fail_at=2');
  const parts = [];
  for await (const part of streamText({ model: model(fails.id), prompt: 'Hi', onError: () => {} }).fullStream)
    parts.push(part);
  t.ok(
    parts.some(({ type }) => type === 'error') ||
      parts.some((part) => part.type === 'finish' && part.finishReason === 'error'),
    'a failure in the middle',
  );
  t.equal(
    parts.map((part) => (part.type === 'text-delta' ? part.text : '')).join(''),
    (await lastMessage(house, fails.id)).content,
  );

  const hangs = await synthetic(house, 'tokens=3,hang_at=2');
  const stopping = new AbortController();
  for await (const part of streamText({ model: model(hangs.id), prompt: 'Hi', abortSignal: stopping.signal })
    .fullStream)
    if (part.type === 'text-delta') stopping.abort();
  t.ok(await until(async () => (await lastMessage(house, hangs.id)).stop_reason === 'aborted'));
}

export async function langchain(t: Test, house: House): Promise<void> {
  const model = (id: string, more: object = {}) =>
    new ChatOpenAI({
      model: id,
      apiKey: house.key,
      configuration: { baseURL: `${house.url}/v1` },
      maxRetries: 0,
      ...more,
    });
  const { id } = await synthetic(house, 'tokens=3');
  const calls = await synthetic(house, 'call=look,tokens=3');
  const looks = langchainTool(() => 'seen', {
    name: look.name,
    description: look.description,
    schema: look.parameters as any,
  });
  for (const useResponsesApi of [false, true]) {
    const way = useResponsesApi ? 'responses' : 'chat completions';
    const whole = await model(id, { useResponsesApi }).invoke('Hi');
    t.match([whole.text, whole.usage_metadata?.output_tokens], [said, 3], way);
    let text = '';
    for await (const chunk of await model(id, { useResponsesApi }).stream([
      ['system', 'Be brief.'],
      ['user', 'Hi'],
    ]))
      text += chunk.text;
    t.equal(text, said, way);

    const bound = model(calls.id, { useResponsesApi }).bindTools([looks]);
    const asked = await bound.invoke('Hi');
    t.match(asked.tool_calls, [{ name: 'look', args: { order: 'word' } }], way);
    const answered = await bound.invoke([['user', 'Hi'], asked, await looks.invoke(asked.tool_calls![0] as any)]);
    t.equal(answered.text, said, way);
  }
  const schema = { title: 'place', type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
  const { assistant } = await onProvider(t, house, (response, request) => {
    const isForced = request.body.tool_choice !== undefined;
    const call = { tool_calls: [{ index: 0, id: 'c', function: { name: 'place', arguments: '{"city":"Ulm"}' } }] };
    if (isForced)
      response
        .writeHead(200, eventStream)
        .end(`data: ${JSON.stringify({ choices: [{ delta: call, finish_reason: 'tool_calls' }] })}\n\n${done}`);
    else answered(response, ['{"city":', '"Ulm"}']);
  });
  for (const useResponsesApi of [false, true]) {
    for (const method of ['jsonSchema', 'functionCalling', 'jsonMode'] as const) {
      const structured = model(assistant.id, { useResponsesApi }).withStructuredOutput(schema, {
        method,
        name: 'place',
      });
      t.same(
        await structured.invoke('Where? Answer in JSON.'),
        { city: 'Ulm' },
        `${method}, responses: ${useResponsesApi}`,
      );
    }
  }

  const goesOn = model(id, {
    configuration: { baseURL: `${house.url}/v1`, defaultHeaders: { 'X-Conversation-Id': 'langchain' } },
  });
  for (const said of ['Hi', 'More']) await goesOn.invoke(said);
  t.equal((await transcriptOf(house, (await lastSession(house, id)).id)).length, 4, 'a conversation that goes on');

  const fails = await synthetic(house, 'tokens=5,fail_at=2');
  let read = '';
  await t.rejects(
    async () => {
      for await (const chunk of await model(fails.id).stream('Hi')) read += chunk.text;
    },
    { code: 'assistant_unavailable' },
  );
  t.equal(read, (await lastMessage(house, fails.id)).content);
}

/** The package brings a hundred others, so it is installed when it is wanted. */
export const agentsPackage = await installedAside('@openai/agents', '0.13.3');

export async function agents(t: Test, house: House): Promise<void> {
  const { Agent, tool: agentTool, OpenAIProvider, Runner, setTracingDisabled } = await import(agentsPackage.entry!);
  setTracingDisabled(true);
  const { id } = await synthetic(house, 'call=look,tokens=3');
  for (const useResponses of [true, false]) {
    const asked: unknown[] = [];
    const looks = agentTool({ ...look, strict: false, execute: (given: unknown) => (asked.push(given), 'seen') });
    const agent = new Agent({ name: 'Support', instructions: 'Be brief.', model: id, tools: [looks] });
    const runner = new Runner({
      modelProvider: new OpenAIProvider({ apiKey: house.key, baseURL: `${house.url}/v1`, useResponses }),
    });
    const whole = await runner.run(agent, 'Hi');
    t.same([whole.finalOutput, asked], [said, [{ order: 'word' }]], `responses: ${useResponses}`);
    const streamed = await runner.run(agent, [...whole.history, { role: 'user', content: 'More' }], { stream: true });
    let text = '';
    for await (const piece of streamed.toTextStream()) text += piece;
    await streamed.completed;
    t.match([text, asked.length], [said, 2]);
  }
}
