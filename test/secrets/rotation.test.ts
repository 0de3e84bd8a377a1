/** A change of `PARLEY_SECRET`, as an operator makes it (promise P18). */
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { answered, onProvider, refused, say, sayInVain, until } from '../api/talk.ts';
import { openHouse, type House } from '../api/house.ts';
import { temporaryFolder } from '../folders.ts';
import { assistantWith, openTool, seenByConsole, told } from '../faults/tool-house.ts';
import { diagnose } from '../operations/doctor/diagnosis.ts';
import { appendOnly, RedisServer, whyNoRedis } from '../store/redis-server.ts';

const old = 'the secret that the installation had';
const young = 'the secret that the installation gets';

const resealed = (house: House) =>
  until(async () => /"resealed":(\d+)[^\n]*PARLEY_SECRET_PREVIOUS can go/.exec(house.stdout())?.[1]);

const converses = async (t: Test, house: House, assistantId: string): Promise<void> => {
  const { id } = await house.session(assistantId);
  t.equal((await (await say(house, id)).rest()).at(-1)?.event, 'turn.completed');
};

const refuses = async (t: Test, house: House, assistantId: string): Promise<void> =>
  refused(t, await sayInVain(house, (await house.session(assistantId)).id), 503, 'assistant_unavailable');

/** Has the tool called, and resolves with what became of the call. */
async function calls(house: House, assistantId: string): Promise<string> {
  const { id } = await house.session(assistantId);
  await (await say(house, id)).rest();
  const [call] = (await seenByConsole(house, id)).at(-1).tool_calls;
  return call.error ?? call.status;
}

t.test('the master key rotates on LMDB', async (t) => {
  const folder = await temporaryFolder(t);
  const store = { PARLEY_STORE: 'lmdb:./data', PARLEY_ALLOW_PRIVATE_PROVIDERS: '1', PARLEY_LOG: 'info' };
  const open = (secrets: Record<string, string>) =>
    openHouse(t, { folder, embedded: true, env: { ...store, ...secrets } });
  const checked = async (secrets: Record<string, string>, what = 'credentials') =>
    (await diagnose({ ...store, PARLEY_STORE: `lmdb:${join(folder, 'data')}`, ...secrets })).of(what);
  const first = await open({ PARLEY_SECRET: old });
  const { assistant, provider } = await onProvider(t, first, (response) => answered(response, ['yes']));
  await converses(t, first, assistant.id);
  // A tool whose secret was turned twice has three that sign.
  const tool = await openTool(t);
  const { id: toolId } = await told(first, '/tools', {
    kind: 'http',
    name: 'T',
    url: tool.url,
    functions: [{ name: 'act' }],
  });
  for (let turn = 0; turn < 2; turn++) await told(first, `/tools/${toolId}/rotate-secret`, {});
  const { id: callerId } = await assistantWith(first, 'call=act,tokens=1', [toolId]);
  t.equal(await calls(first, callerId), 'completed');
  await first.stop();

  const alone = await open({ PARLEY_SECRET: young });
  await refuses(t, alone, assistant.id);
  t.equal(await calls(alone, callerId), 'refused');
  t.equal(tool.reached.length, 1, 'a call that cannot be signed is not sent');
  await alone.stop();
  const both = { PARLEY_SECRET: young, PARLEY_SECRET_PREVIOUS: old };
  t.match(await checked(both), { status: 'warn', found: '1 of 1 open only with PARLEY_SECRET_PREVIOUS' });
  t.match(await checked(both, 'signing-secrets'), {
    status: 'warn',
    found: '3 of 3 open only with PARLEY_SECRET_PREVIOUS',
  });
  t.match(await checked({ PARLEY_SECRET: young }, 'signing-secrets'), { status: 'fail', found: /3 of 3 do not open/ });
  const turning = await open(both);
  await converses(t, turning, assistant.id);
  t.equal(await resealed(turning), '4');
  t.equal(await calls(turning, callerId), 'completed');
  t.notMatch(turning.stdout() + turning.stderr(), /canary-secret/);
  await converses(t, turning, assistant.id);
  await turning.stop();
  t.match(await checked(both), {
    status: 'ok',
    found: 'all 1 open with PARLEY_SECRET; PARLEY_SECRET_PREVIOUS can be unset',
  });

  const after = await open({ PARLEY_SECRET: young });
  await converses(t, after, assistant.id);
  t.equal(await calls(after, callerId), 'completed');
  t.same(
    tool.reached.map(({ signatures }) => signatures),
    [3, 3, 3],
  );
  await after.stop();
  t.match(await checked({ PARLEY_SECRET: young }, 'signing-secrets'), {
    status: 'ok',
    found: 'all 3 open with PARLEY_SECRET',
  });
  t.match(await checked({ PARLEY_SECRET: old }), { status: 'fail' });
  const again = await open(both);
  t.equal(await resealed(again), '0', 'there is nothing left to do');
  t.ok(provider.requests.every(({ headers }) => headers.authorization === 'Bearer canary-secret'));
});

t.test('on Redis, where others serve meanwhile', { skip: whyNoRedis() ?? false }, async (t) => {
  const redis = await RedisServer.start(...appendOnly);
  t.teardown(() => redis.stop());
  const open = (secret: string, previous: string) =>
    openHouse(t, {
      env: {
        PARLEY_STORE: redis.url,
        PARLEY_ALLOW_PRIVATE_PROVIDERS: '1',
        PARLEY_LOG: 'info',
        PARLEY_SECRET: secret,
        PARLEY_SECRET_PREVIOUS: previous,
      },
    });
  const one = await open(old, young);
  const { assistant, credential } = await onProvider(t, one, (response) => answered(response, ['yes']));
  await converses(t, one, assistant.id);
  const two = await open(young, old);
  t.equal(await resealed(two), '1');
  for (const house of [one, two]) await converses(t, house, assistant.id);
  await one.console(`/workspaces/${one.workspaceId}/credentials/${credential.id}`, {
    method: 'PATCH',
    body: { api_key: 'canary-secret-2' },
  });
  for (const house of [two, one]) await converses(t, house, assistant.id);
  await one.console(`/workspaces/${one.workspaceId}/credentials/${credential.id}`, { method: 'DELETE' });
  for (const house of [two, one]) await refuses(t, house, assistant.id);
});
