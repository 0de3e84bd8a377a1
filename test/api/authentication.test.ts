/** Authentication, and the answers to requests that fail it (contract 4). */
import t, { type Test } from 'tap';
import { WheelClock } from '../../src/base/clock.ts';
import { checksum, randomIds } from '../../src/base/ids.ts';
import { isWhole, makeKey, publicIdOf } from '../../src/access/keys.ts';
import { edge, openHouse, type House } from './house.ts';
import { rawAsk } from './raw.ts';
import { isRated, isRefused, refusals, unrated, unreadableHeader, type Refusal } from './refusal.ts';

type Headers = Record<string, string | string[]>;

const clock = new WheelClock();
const ids = randomIds(clock);
const unreadable = (name: string): Refusal => unrated(unreadableHeader(name));
const { invalidKey, missingKey } = refusals;

t.test(edge, async (t) => {
  const house = await openHouse(t);
  await t.test('the ways to send a key', (t) => ways(t, house));
  await t.test('a malformed or forged key is refused', (t) => wrongKeys(t, house));
  await t.test("the operator's token opens the console's API alone", (t) => operator(t, house));
});

async function ways(t: Test, house: House): Promise<void> {
  const { key } = house;
  const other = (await house.newKey()).key;
  const passes: Record<string, Headers> = {
    'as Bearer': { Authorization: `Bearer ${key}` },
    'scheme in lower case': { Authorization: `bearer ${key}` },
    'scheme in any case': { Authorization: `bEaReR ${key}` },
    'as X-Api-Key': { 'X-Api-Key': key },
    'names in lower case': { authorization: `Bearer ${key}` },
    'both with the same key': { Authorization: `Bearer ${key}`, 'X-Api-Key': key },
    'white space at the ends of X-Api-Key': { 'X-Api-Key': `  ${key} \t ` },
    'white space at the ends of Authorization': { Authorization: `  Bearer ${key}  ` },
  };
  const refused: Record<string, [Headers, Refusal]> = {
    'neither header': [{}, missingKey],
    'both with different keys': [{ Authorization: `Bearer ${key}`, 'X-Api-Key': other }, refusals.differentKeys],
    'both, one of them wrong': [{ Authorization: `Bearer ${key}`, 'X-Api-Key': 'x' }, refusals.differentKeys],
    'Authorization twice, the same': [
      { Authorization: [`Bearer ${key}`, `Bearer ${key}`] },
      unreadable('Authorization'),
    ],
    'Authorization twice, different': [
      { Authorization: [`Bearer ${key}`, `Bearer ${other}`] },
      unreadable('Authorization'),
    ],
    'Authorization twice, the second empty': [{ Authorization: [`Bearer ${key}`, ''] }, unreadable('Authorization')],
    'X-Api-Key twice, the same': [{ 'X-Api-Key': [key, key] }, unreadable('X-Api-Key')],
    'X-Api-Key twice, different': [{ 'X-Api-Key': [key, other] }, unreadable('X-Api-Key')],
    'X-Api-Key twice beside Authorization': [
      { Authorization: `Bearer ${key}`, 'X-Api-Key': [key, key] },
      unreadable('X-Api-Key'),
    ],
    'an empty X-Api-Key': [{ 'X-Api-Key': '' }, unreadable('X-Api-Key')],
    'an X-Api-Key of spaces': [{ 'X-Api-Key': '   ' }, unreadable('X-Api-Key')],
    'an empty X-Api-Key beside a good Authorization': [
      { Authorization: `Bearer ${key}`, 'X-Api-Key': '' },
      unreadable('X-Api-Key'),
    ],
    'an empty Authorization': [{ Authorization: '' }, unreadable('Authorization')],
    'an empty Authorization beside a good X-Api-Key': [
      { Authorization: '', 'X-Api-Key': key },
      unreadable('Authorization'),
    ],
    'Bearer without a credential': [{ Authorization: 'Bearer' }, unreadable('Authorization')],
    'Bearer with nothing but spaces': [{ Authorization: 'Bearer   ' }, unreadable('Authorization')],
    Basic: [{ Authorization: 'Basic dXNlcjpwYXNz' }, unreadable('Authorization')],
    'Basic beside a good X-Api-Key': [
      { Authorization: 'Basic dXNlcjpwYXNz', 'X-Api-Key': key },
      unreadable('Authorization'),
    ],
    'the key without a scheme': [{ Authorization: key }, unreadable('Authorization')],
    'the scheme run into the key': [{ Authorization: `Bearer${key}` }, unreadable('Authorization')],
    'white space inside a Bearer credential': [
      { Authorization: `Bearer ${key.slice(0, 20)} ${key.slice(20)}` },
      invalidKey,
    ],
    'a word after a Bearer credential': [{ Authorization: `Bearer ${key} x` }, invalidKey],
    'white space inside an X-Api-Key': [{ 'X-Api-Key': `${key.slice(0, 20)} ${key.slice(20)}` }, invalidKey],
    'a tab inside an X-Api-Key': [{ 'X-Api-Key': `${key}\tx` }, invalidKey],
    'two keys on one line': [{ 'X-Api-Key': `${key}, ${key}` }, invalidKey],
  };
  for (const [name, headers] of Object.entries(passes)) {
    const answer = await rawAsk(house.url, '/assistants', { headers });
    t.equal(answer.status, 200, name);
    isRated(t, answer, true, name);
  }
  for (const [name, [headers, refusal]] of Object.entries(refused))
    isRefused(t, await rawAsk(house.url, '/assistants', { headers }), refusal, name);
}

async function wrongKeys(t: Test, house: House): Promise<void> {
  const { key } = house;
  const [, publicId = '', secret = ''] = key.split('_');
  const forged = `ak_${publicId}_${ids.secret()}`;
  t.ok(key.startsWith('ak_') && secret.length >= 32 + 1, 'ak_, a public id, a secret of 160 bits and a checksum');
  const wrong: Record<string, string> = {
    nonsense: 'x',
    'the prefix alone': 'ak_',
    'without its last character': key.slice(0, -1),
    'without its checksum': key.slice(0, -6),
    'without its first character': key.slice(1),
    'its public part alone': `ak_${publicId}`,
    'one character more': `${key}0`,
    'another last character': key.slice(0, -1) + (key.endsWith('0') ? '1' : '0'),
    'another character in its secret': key.replace(secret, (secret.startsWith('0') ? '1' : '0') + secret.slice(1)),
    'in upper case': key.toUpperCase(),
    'well made, but of nobody': makeKey(ids).text,
    'the public id of a key, with another secret and a checksum that is right': forged + checksum(forged),
    'a character beyond ASCII inside': `${key.slice(0, 30)}\u00e9${key.slice(30)}`,
    'as long as a header can be': 'x'.repeat(8000),
    'the token of the operator': house.operatorToken,
    __proto__: '__proto__',
  };
  for (const [name, text] of Object.entries(wrong)) {
    for (const headers of [{ Authorization: `Bearer ${text}` }, { 'X-Api-Key': text }] as Headers[]) {
      isRefused(t, await rawAsk(house.url, '/assistants', { headers }), invalidKey, `${name}, ${Object.keys(headers)}`);
    }
  }
}

async function operator(t: Test, house: House): Promise<void> {
  const path = '/console/api/workspaces';
  const token = house.operatorToken;
  for (const headers of [{ Authorization: `Bearer ${token}` }, { Authorization: `bearer ${token}` }]) {
    const answer = await rawAsk(house.url, path, { headers });
    t.equal(answer.status, 200);
    isRated(t, answer, false, 'the console');
  }
  const refused: Record<string, [Headers, Refusal]> = {
    nothing: [{}, missingKey],
    'another token': [{ Authorization: `Bearer ${token}x` }, invalidKey],
    'the beginning of the token': [{ Authorization: `Bearer ${token.slice(0, -1)}` }, invalidKey],
    'an API key': [{ Authorization: `Bearer ${house.key}` }, invalidKey],
    'white space inside': [{ Authorization: `Bearer ${token} x` }, invalidKey],
    Basic: [{ Authorization: 'Basic dXNlcjpwYXNz' }, unreadable('Authorization')],
    empty: [{ Authorization: '' }, unreadable('Authorization')],
    twice: [{ Authorization: [`Bearer ${token}`, `Bearer ${token}`] }, unreadable('Authorization')],
  };
  for (const [name, [headers, refusal]] of Object.entries(refused))
    isRefused(t, await rawAsk(house.url, path, { headers }), refusal, name);
}

t.test('a copy that is cut or mistyped is refused without a look-up', async (t) => {
  const { text, publicId } = makeKey(ids);
  t.equal(publicIdOf(text), publicId);
  t.ok(isWhole(text));
  const accepted = (copy: string): boolean => publicIdOf(copy) !== null && isWhole(copy);
  for (let length = 0; length < text.length; length++) t.notOk(accepted(text.slice(0, length)), `cut to ${length}`);
  for (let at = 0; at < text.length; at++) {
    const mistyped = text.slice(0, at) + (text[at] === 'x' ? 'y' : 'x') + text.slice(at + 1);
    t.notOk(accepted(mistyped), `mistyped at ${at}`);
  }
});

t.test('the life of a key', async (t) => {
  const house = await openHouse(t);
  const ask = (key: string) => house.ask('/assistants', { key });
  const patch = (id: string, body: object) =>
    house.console(`/workspaces/${house.workspaceId}/keys/${id}`, { method: 'PATCH', body });
  const revoke = (id: string) =>
    house.console(`/workspaces/${house.workspaceId}/keys/${id}/revoke`, { method: 'POST' });
  const second = () => Math.floor(Date.now() / 1000);

  await t.test('a revoked key stays on record', async (t) => {
    const { id, key } = await house.newKey();
    t.equal((await ask(key)).status, 200);
    t.equal((await revoke(id)).json.status, 'revoked');
    isRefused(t, await ask(key), refusals.revokedKey);
    isRefused(t, await ask(key.slice(0, -1)), invalidKey, 'a truncated copy of it is unknown all the same');
    const wrong = `ak_${key.split('_')[1]}_${ids.secret()}`;
    isRefused(t, await ask(wrong + checksum(wrong)), invalidKey, 'and who does not have it does not hear of its end');
  });

  await t.test('a key expires to the second, and comes back with a later date', async (t) => {
    const { id, key } = await house.newKey({ expires_at: second() + 3600 });
    t.equal((await ask(key)).status, 200);
    t.equal(
      (await patch(id, { expires_at: second() })).json.status,
      'expired',
      'past its date as soon as the second is reached',
    );
    isRefused(t, await ask(key), refusals.expiredKey);
    await patch(id, { expires_at: null });
    t.equal((await ask(key)).status, 200);
    const { expires_at: at } = (await patch(id, { expires_at: second() + 1 })).json;
    await new Promise<void>((resolve) => clock.after(at * 1000 - Date.now(), resolve));
    isRefused(t, await ask(key), refusals.expiredKey, 'while its actor is awake');
  });

  await t.test('a key both revoked and expired is revoked', async (t) => {
    const expired = await house.newKey({ expires_at: 1 });
    isRefused(t, await ask(expired.key), refusals.expiredKey);
    await revoke(expired.id);
    isRefused(t, await ask(expired.key), refusals.revokedKey, 'expired first');
    const revoked = await house.newKey();
    await revoke(revoked.id);
    await patch(revoked.id, { expires_at: 1 });
    isRefused(t, await ask(revoked.key), refusals.revokedKey, 'revoked first');
    await patch(revoked.id, { expires_at: second() + 3600 });
    isRefused(t, await ask(revoked.key), refusals.revokedKey, 'and no date brings it back');
  });

  await t.test('the keys of a deleted workspace are unknown', async (t) => {
    const workspace = (await house.console('/workspaces', { body: { name: 'short' } })).json;
    const { key } = (await house.console(`/workspaces/${workspace.id}/keys`, { body: { name: 'k' } })).json;
    const unused = (await house.console(`/workspaces/${workspace.id}/keys`, { body: { name: 'k' } })).json.key;
    t.equal((await ask(key)).status, 200);
    t.equal((await house.console(`/workspaces/${workspace.id}`, { method: 'DELETE' })).status, 204);
    isRefused(t, await ask(key), invalidKey);
    isRefused(t, await ask(unused), invalidKey, 'one that was never used');
  });
});

t.teardown(() => clock.stop());
