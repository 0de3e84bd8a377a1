/** A provider's secret goes where it was entered for, and nowhere else (contract 9, promise P18). */
import t, { type Test } from 'tap';
import type { Provider } from '../providers/model/provider.ts';
import { provider } from '../providers/model/provider.ts';
import { edge, openWorkspace, type House } from './house.ts';
import { isRefused, missingField, refusals, unrated } from './refusal.ts';
import { answered, onProvider, say, sayInVain } from './talk.ts';

t.test(edge, async (t) => {
  const house = await openWorkspace();
  await t.test('a base URL changes only together with the secret', (t) => redirected(t, house));
  await t.test('a provider changes only together with the secret', (t) => reassigned(t, house));
  await t.test('white space around a secret goes', (t) => spaced(t, house));
  await t.test('a change of nothing needs no secret', (t) => unchanged(t, house));
});

const secretsOf = ({ requests }: Provider) =>
  requests.map(({ headers }) => headers.authorization ?? headers['x-api-key']);
const withoutSecret = unrated(missingField('api_key'));

async function listening(t: Test): Promise<Provider> {
  const found = await provider((response) => answered(response, ['yes']));
  t.teardown(() => found.close());
  return found;
}

async function scene(t: Test, house: House) {
  const found = await onProvider(t, house, (response) => answered(response, ['yes']));
  const path = `/workspaces/${house.workspaceId}/credentials/${found.credential.id}`;
  const stored = async () =>
    (await house.console(`/workspaces/${house.workspaceId}/credentials`)).json.data.find(
      ({ id }: { id: string }) => id === found.credential.id,
    );
  return { ...found, stored, patch: (body: object) => house.console(path, { method: 'PATCH', body }) };
}

async function redirected(t: Test, house: House): Promise<void> {
  const { assistant, credential, provider: first, patch, stored } = await scene(t, house);
  const second = await listening(t);
  const { id } = await house.session(assistant.id);
  for (const base_url of [
    second.baseUrl,
    `${first.baseUrl}/other`,
    `${first.baseUrl}/`,
    first.baseUrl.replace('127.0.0.1', 'localhost'),
    null,
  ]) {
    isRefused(t, await patch({ base_url }), withoutSecret, String(base_url));
    isRefused(t, await patch({ base_url, api_key: null }), withoutSecret, 'null is none');
  }
  t.same(await stored(), credential, 'nothing has changed');
  await (await say(house, id)).rest();
  t.same([secretsOf(first), secretsOf(second)], [['Bearer canary-secret'], []]);

  t.match(await patch({ base_url: second.baseUrl, api_key: 'canary-secret-2' }), {
    status: 200,
    json: { base_url: second.baseUrl },
  });
  await (await say(house, id)).rest();
  t.same([secretsOf(first), secretsOf(second)], [['Bearer canary-secret'], ['Bearer canary-secret-2']]);
}

async function reassigned(t: Test, house: House): Promise<void> {
  const { assistant, credential, provider: upstream, patch, stored } = await scene(t, house);
  isRefused(t, await patch({ provider: 'anthropic' }), withoutSecret);
  t.same(await stored(), credential, 'nothing has changed');
  t.match(await patch({ provider: 'anthropic', api_key: 'canary-secret-2' }), {
    status: 200,
    json: { provider: 'anthropic', base_url: upstream.baseUrl },
  });
  const { id } = await house.session(assistant.id);
  isRefused(t, await sayInVain(house, id), refusals.unavailable, 'an assistant of the provider before');
  t.same(secretsOf(upstream), []);
  const model = { provider: 'anthropic', name: 'm', credential_id: credential.id };
  await house.revise(assistant.id, { model });
  const { id: later } = await house.session(assistant.id);
  isRefused(t, await sayInVain(house, later), refusals.unavailable, 'what it answers is not what this provider says');
  t.same(secretsOf(upstream), ['canary-secret-2']);
}

async function spaced(t: Test, house: House): Promise<void> {
  const { assistant, provider: upstream, patch } = await scene(t, house);
  const { id } = await house.session(assistant.id);
  for (const api_key of [' canary-3', 'canary-3\n', '\t canary-3 \r\n', '\ufeffcanary-3\u00a0']) {
    t.equal((await patch({ api_key })).status, 200, JSON.stringify(api_key));
    await (await say(house, id)).rest();
    t.equal(secretsOf(upstream).at(-1), 'Bearer canary-3', JSON.stringify(api_key));
  }
}

async function unchanged(t: Test, house: House): Promise<void> {
  const { assistant, provider: upstream, patch } = await scene(t, house);
  const { baseUrl: base_url } = upstream;
  for (const body of [{}, { base_url }, { provider: 'openai' }, { base_url, provider: 'openai' }, { provider: null }])
    t.equal((await patch(body)).status, 200, JSON.stringify(body));
  await (await say(house, (await house.session(assistant.id)).id)).rest();
  t.same(secretsOf(upstream), ['Bearer canary-secret']);
}
