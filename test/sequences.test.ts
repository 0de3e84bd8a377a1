/**
 * Random commands against a live server agree with the machines (promise P8): a small size, and that a server which
 * differs is found.
 */
import { isDeepStrictEqual } from 'node:util';
import t from 'tap';
import { edge, openHouse, type House } from './api/house.ts';
import { runSequences } from './sequences/run.ts';

t.test(edge, async (t) => {
  const house = await openHouse(t);
  await t.resolves(runSequences(house, { seed: edge === 'uws' ? 8 : 9, runs: 25, length: 30 }));
});

/** The server, but for some of its answers. */
const differing = (house: House, changed: (path: string, json: any) => unknown): House => ({
  ...house,
  async ask(path, ask) {
    const answer = await house.ask(path, ask);
    const json = changed(path, structuredClone(answer.json));
    return isDeepStrictEqual(json, answer.json) ? answer : { ...answer, json };
  },
});

t.test('a server that differs from the machines is found', async (t) => {
  const house = await openHouse(t);
  const bugs: Record<string, (path: string, json: any) => unknown> = {
    'an ended session that looks open': (path, json) =>
      /^\/sessions\/[^/]+$/.test(path) && json?.status === 'ended' ? { ...json, status: 'open' } : json,
    'a second turn refused as if the workspace were full': (_, json) =>
      json?.error?.code === 'turn_in_progress' ? { ...json, error: { ...json.error, code: 'rate_limited' } } : json,
    'a draft refused as switched off': (_, json) =>
      json?.error?.code === 'assistant_not_published'
        ? { ...json, error: { ...json.error, code: 'assistant_disabled' } }
        : json,
    'a partial message told as whole': (path, json) =>
      path.includes('/transcript') && json.data
        ? {
            ...json,
            data: json.data.map((each: any) => (each.status === 'partial' ? { ...each, status: 'completed' } : each)),
          }
        : json,
    'an expired key told as unknown': (_, json) =>
      json?.error?.code === 'expired_api_key' ? { ...json, error: { ...json.error, code: 'invalid_api_key' } } : json,
  };
  // The first sequence that finds it; earlier ones are skipped. After a change of the draws a later one finds it.
  const firstOf: Record<string, string> = {
    'a draft refused as switched off': '15',
    'an expired key told as unknown': '9',
  };
  for (const [name, changed] of Object.entries(bugs)) {
    const found = await runSequences(differing(house, changed), {
      seed: 5,
      runs: 60,
      length: 30,
      anyLength: true,
      path: firstOf[name] ?? '0',
    }).then(
      () => null,
      (error: Error) => error.message,
    );
    t.match(found, /Counterexample/, name);
  }
});
