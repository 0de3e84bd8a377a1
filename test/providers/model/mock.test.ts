/**
 * Against a mock provider that was written elsewhere, so that our reading of the wire formats is not checked by itself.
 */
import t from 'tap';
import { LLMock } from '@copilotkit/aimock';
import { anthropicModel } from '../../../src/providers/model/anthropic.ts';
import { openaiModel } from '../../../src/providers/model/openai.ts';
import { ask, client } from './provider.ts';

const long = 'The answer comes in many small pieces — größer als ASCII, 日本語, 😀 — and ends.';
const orders = ['4711', 'größer', '😀'];

for (const make of [openaiModel, anthropicModel]) {
  t.test(make.name, async (t) => {
    const mock = new LLMock({ port: 0, chunkSize: 3 });
    // Usage under the names of both formats.
    mock.onMessage('hello', {
      content: long,
      usage: { prompt_tokens: 11, completion_tokens: 22, input_tokens: 11, output_tokens: 22 },
    });
    mock.onMessage('broken', { content: long }, { truncateAfterChunks: 8, latency: 5 });
    mock.onMessage('garbage', { content: long }, { chaos: { malformedRate: 1 } });
    mock.onMessage('hang up', { content: long }, { chaos: { disconnectRate: 1 } });
    mock.onMessage('order', {
      content: 'Let me see.',
      toolCalls: orders.map((order) => ({ name: 'look_up', arguments: JSON.stringify({ order }) })),
    });
    await mock.start();
    t.teardown(() => mock.stop());
    const model = make(client(t));
    const baseUrl = `${mock.url}/v1`;
    const saying = (content: string) => ask(model, { baseUrl, name: 'any', messages: [{ role: 'user', content }] });

    const heard = saying('hello');
    t.equal(await heard.settled, 'end');
    t.equal(heard.said, long);
    t.ok(heard.pieces.length > 10, 'streamed');
    t.same(heard.usageGiven, { inputTokens: 11, outputTokens: 22 });

    for (const [status, failure] of [
      [429, 'rate_limit'],
      [401, 'credential'],
      [500, 'status'],
    ] as const) {
      mock.nextRequestError(status, { message: 'no', type: 'x' });
      t.equal(await saying('hello').settled, failure);
    }
    const cut = saying('broken');
    t.equal(await cut.settled, 'cut');
    t.ok(long.startsWith(cut.said) && cut.said !== '');
    t.equal(await saying('garbage').settled, 'malformed');
    t.equal(await saying('hang up').settled, 'cut');
    t.equal(await saying('hello').settled, 'end', 'and it goes on');

    const calling = ask(model, {
      baseUrl,
      name: 'any',
      messages: [{ role: 'user', content: 'order' }],
      tools: [{ name: 'look_up', description: null, parameters: { type: 'object' } }],
    });
    t.equal(await calling.settled, 'end');
    t.equal(calling.said, 'Let me see.');
    t.same(
      calling.calls.map(({ name, arguments: given }) => [name, JSON.parse(given)]),
      orders.map((order) => ['look_up', { order }]),
      'calls side by side, in pieces',
    );
  });
}
