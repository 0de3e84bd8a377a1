/** Fallback models (contract 19). */
import t, { type Test } from 'tap';
import { data, delta, done, eventStream, provider, type Provider } from '../providers/model/provider.ts';
import { openHouse, textOf, type House } from './house.ts';
import { credentialOf, refused, say, sayInVain, transcriptOf, until } from './talk.ts';

t.test('a fallback model answers where the own one fails', async (t) => {
  const house = await openHouse(t, { env: { PARLEY_ALLOW_PRIVATE_PROVIDERS: '1' } });
  await t.test('the next model is asked where one fails before any output', (t) => falls(t, house));
  await t.test('no other model is asked after the first output or call', (t) => late(t, house));
  await t.test('output that is not stored yet does not keep the next model from being asked', (t) =>
    unstored(t, house),
  );
  await t.test('a model that failed five times in a row is passed over', (t) => passedOver(t, house));
  await t.test('settings that no turn could use are refused', (t) => wrong(t, house));
});

const inside = (house: House): string => `/workspaces/${house.workspaceId}`;

const refuses: Provider['answer'] = (response) => void response.writeHead(500).end('{}');
const drops: Provider['answer'] = (response) => void response.destroy();
const errs: Provider['answer'] = (response) =>
  void response.writeHead(200, eventStream).end(data({ error: { message: 'no' } }));
const answers =
  (text: string): Provider['answer'] =>
  (response) =>
    void response.writeHead(200, eventStream).end(delta(text, 'stop') + done);

/** An assistant whose models answer so, each at another provider. */
async function withModels(t: Test, house: House, ...ways: Provider['answer'][]) {
  const providers = await Promise.all(ways.map((answer) => provider(answer)));
  for (const one of providers) t.teardown(() => one.close());
  const models = [];
  for (const [index, { baseUrl }] of providers.entries())
    models.push({
      provider: 'openai',
      name: `m${index}`,
      credential_id: (await credentialOf(house, 'openai', baseUrl)).id,
    });
  const [own, ...fallbacks] = models;
  return { providers, models, assistant: await house.assistant({ model: { ...own, fallbacks } }) };
}

const modelOf = async (house: House, id: string, turnId: string) => {
  const { status, json } = await house.console(`${inside(house)}/sessions/${id}/turns/${turnId}`);
  return status === 200 ? json.model : json;
};

async function falls(t: Test, house: House): Promise<void> {
  for (const fails of [refuses, drops, errs]) {
    const { assistant, providers } = await withModels(t, house, fails, fails, answers('third'));
    const { id } = await house.session(assistant.id);
    const stream = await say(house, id);
    const events = await stream.rest();
    t.same([stream.status, textOf(events), events.at(-1)!.event], [200, 'third', 'turn.completed']);
    t.same(
      providers.map(({ requests }) => requests.length > 0),
      [true, true, true],
    );
    t.same(await modelOf(house, id, stream.turnId), { provider: 'openai', name: 'm2', fallback: 2 });
    const shown = JSON.stringify([events, await transcriptOf(house, id)]);
    t.notMatch(shown, /fallback|openai|"m2"/);
    t.equal((await house.ask(`/usage?assistant_id=${assistant.id}`)).json.totals.turns, 1);
  }
  const { assistant } = await withModels(t, house, refuses, errs);
  const { id } = await house.session(assistant.id);
  refused(t, await sayInVain(house, id), 503, 'assistant_unavailable');
  t.same(await transcriptOf(house, id), [], 'nothing is left of it');
  const first = await withModels(t, house, answers('own'), answers('other'));
  const session = await house.session(first.assistant.id);
  const stream = await say(house, session.id);
  t.equal(textOf(await stream.rest()), 'own');
  t.same(await modelOf(house, session.id, stream.turnId), { provider: 'openai', name: 'm0', fallback: 0 });
  t.equal(first.providers[1]!.requests.length, 0);
  const gone = await withModels(t, house, answers('own'), answers('other'));
  await house.console(`${inside(house)}/credentials/${gone.models[0]!.credential_id}`, { method: 'DELETE' });
  const without = await house.session(gone.assistant.id);
  t.equal(textOf(await (await say(house, without.id)).rest()), 'other', 'a credential that is gone');
  const metrics = (await house.ask('/metrics', { key: null })).text;
  t.match(metrics, /parley_model_fallbacks_total\{outcome="answered"\} 4\n/);
  t.match(metrics, /parley_model_fallbacks_total\{outcome="failed"\} 4\n/);
}

async function late(t: Test, house: House): Promise<void> {
  const cuts: Provider['answer'] = (response) => {
    response.writeHead(200, eventStream);
    response.write(delta('half'), () => setTimeout(() => response.destroy(), 50));
  };
  const { assistant, providers } = await withModels(t, house, cuts, answers('other'));
  const { id } = await house.session(assistant.id);
  const events = await (await say(house, id)).rest();
  t.same([textOf(events), events.at(-1)!.event], ['half', 'error']);
  t.equal(providers[1]!.requests.length, 0);

  const parameters = { type: 'object', properties: {} };
  const { json: tool } = await house.console(`${inside(house)}/tools`, {
    body: { kind: 'client', name: 'orders', functions: [{ name: 'look_up', description: 'x', parameters }] },
  });
  const calls: Provider['answer'] = (response) =>
    void response.writeHead(200, eventStream).end(
      data({
        choices: [
          {
            delta: { tool_calls: [{ index: 0, id: 'a', function: { name: 'missing', arguments: '{}' } }] },
            finish_reason: 'tool_calls',
          },
        ],
      }) + done,
    );
  const called = await withModels(t, house, calls, answers('other'));
  await house.revise(called.assistant.id, { tool_ids: [tool.id] });
  const session = await house.session(called.assistant.id);
  const stream = await say(house, session.id);
  await until(() => called.providers[0]!.requests.length >= 1);
  called.providers[0]!.answer = refuses;
  t.equal((await stream.rest()).at(-1)!.event, 'error', 'the second round fails');
  t.equal(called.providers[1]!.requests.length, 0);
}

/** The piece and the failure arrive together, so that no step of the store is under way. */
async function unstored(t: Test, house: House): Promise<void> {
  const fault = data({ error: { message: 'no' } });
  const failing: Record<string, Provider['answer']> = {
    'an error after a piece': (response) => void response.writeHead(200, eventStream).end(delta('half') + fault),
    'an error after pieces': (response) =>
      void response.writeHead(200, eventStream).end(delta('ha') + delta('l') + delta('f') + fault),
    'an end without a finish': (response) => void response.writeHead(200, eventStream).end(delta('half')),
    'a malformed event after a piece': (response) =>
      void response.writeHead(200, eventStream).end(`${delta('half')}data: {no\n\n`),
  };
  for (const [name, way] of Object.entries(failing)) {
    const { assistant, providers } = await withModels(t, house, way, way, answers('third'));
    const { id } = await house.session(assistant.id);
    const stream = await say(house, id);
    const events = await stream.rest();
    t.same([textOf(events), events.at(-1)!.event], ['third', 'turn.completed'], name);
    t.same(
      (await transcriptOf(house, id)).map(({ content, status }) => [content, status]),
      [
        ['Hello', 'completed'],
        ['third', 'completed'],
      ],
      name,
    );
    t.ok(
      providers.every(({ requests }) => requests.length > 0),
      name,
    );
  }
  const { assistant } = await withModels(t, house, failing['an error after a piece']!, refuses);
  const { id } = await house.session(assistant.id);
  refused(t, await sayInVain(house, id), 503, 'assistant_unavailable');
  t.same(await transcriptOf(house, id), [], 'nothing is left of it');
  // The piece is the reply if no fallback is left.
  const alone = await withModels(t, house, failing['an error after a piece']!);
  const session = await house.session(alone.assistant.id);
  const events = await (await say(house, session.id)).rest();
  t.same([textOf(events), events.at(-1)!.event], ['half', 'error']);
  // However the pieces and the failure fall, no reply is of two models.
  for (const waitMs of [0, 0, 1, 2, 5]) {
    const cuts: Provider['answer'] = (response) => {
      response.writeHead(200, eventStream);
      response.write(delta('half'), () => setTimeout(() => response.destroy(), waitMs));
    };
    const two = await withModels(t, house, cuts, answers('other'));
    const one = await house.session(two.assistant.id);
    const reply = await (await say(house, one.id)).rest();
    const hasAsked = two.providers[1]!.requests.length > 0;
    t.same(
      [textOf(reply), reply.at(-1)!.event],
      hasAsked ? ['other', 'turn.completed'] : ['half', 'error'],
      `a cut after ${waitMs} ms`,
    );
  }
}

async function passedOver(t: Test, house: House): Promise<void> {
  const { assistant, providers } = await withModels(t, house, drops, answers('other'));
  const [own, other] = providers as [Provider, Provider];
  const { id } = await house.session(assistant.id);
  const asked: boolean[] = [];
  for (let turn = 0; turn < 7; turn++) {
    const before = own.requests.length;
    t.equal(textOf(await (await say(house, id)).rest()), 'other');
    asked.push(own.requests.length > before);
  }
  t.same(asked, [true, true, true, true, true, false, false]);
  other.answer = refuses;
  own.answer = answers('own');
  t.equal(textOf(await (await say(house, id)).rest()), 'own', 'it is asked where no other is left');
  other.answer = answers('other');
  t.equal(textOf(await (await say(house, id)).rest()), 'own', 'it has answered since');
}

async function wrong(t: Test, house: House): Promise<void> {
  const assistant = await house.assistant();
  const patch = (fallbacks: unknown) =>
    house.console(`${inside(house)}/assistants/${assistant.id}`, { method: 'PATCH', body: { model: { fallbacks } } });
  const scripted = { provider: 'scripted', name: 'scripted' };
  const other = await credentialOf(house, 'anthropic', 'https://api.example.com/v1');
  for (const [fallbacks, field] of [
    [Array(3).fill(scripted), 'model.fallbacks'],
    [[{ provider: 'nobody', name: 'x' }], 'model.fallbacks.0.provider'],
    [[scripted, { provider: 'openai' }], 'model.fallbacks.1.name'],
    [[{ provider: 'openai', name: 'x', credential_id: other.id }], 'model.fallbacks.0.credential_id'],
  ] as const) {
    const answer = await patch(fallbacks);
    refused(t, answer, 422, 'invalid_request');
    t.ok(answer.json.error.message.includes(`\`${field}\``), `${field}: ${answer.json.error.message}`);
  }
  const kept = await patch([scripted]);
  t.same(kept.json.model.fallbacks, [{ ...scripted, credential_id: null }]);
  t.equal(
    (await house.console(`${inside(house)}/assistants/${assistant.id}`, { method: 'PATCH', body: { name: 'x' } })).json
      .model.fallbacks.length,
    1,
  );
  t.same((await patch([])).json.model.fallbacks, []);
}
