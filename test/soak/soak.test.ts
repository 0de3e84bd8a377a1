/** `npm run soak` for a few seconds on each store, and a server that forgets must be found out. */
import t from 'tap';
import type { House } from '../api/house.ts';
import { whyNoRedis } from '../store/redis-server.ts';
import { Guest, Tally } from './guest.ts';
import { soak } from './soak.ts';

for (const store of ['lmdb', 'redis'] as const) {
  const lacking = store === 'redis' ? whyNoRedis() : null;
  t.test(`${store}: guests lose nothing over a restart`, { skip: lacking ?? false }, async (t) => {
    const found = await soak(t, { store, seconds: 6, processes: 2, guests: 4, restartSeconds: 2, seed: 5 });
    t.same(found.wrong, []);
    t.ok(found.restarts >= 1 && found.tally.turns > 4, `${found.restarts} restarts, ${found.tally.turns} turns`);
  });
}

t.test('a server that forgets, or says twice what it did once, is found out', async (t) => {
  const guestOf = (answers: Iterator<[status: number, json: object]>): Guest => {
    const ask = async () => {
      const [status, json] = answers.next().value as [number, object];
      return { status, json, text: JSON.stringify(json) };
    };
    return new Guest({ house: { ask } as unknown as House, key: 'key' }, 'asst_1', new Tally(), 'guest');
  };
  const transcript = (...replies: string[]) =>
    guestOf(
      [
        [
          200,
          {
            data: replies.flatMap((content) => [
              { role: 'user', content: 'said' },
              { role: 'assistant', content },
            ]),
          },
        ] as [number, object],
      ].values(),
    );
  await t.resolves(transcript('one', 'two').remembers('ses_1', ['one', 'two']));
  for (const found of [['one'], ['one', 'tw'], ['two', 'one'], ['one', 'two', 'two']]) {
    await t.rejects(transcript(...found).remembers('ses_1', ['one', 'two']), { message: /2 turns were seen/ });
  }
  await t.rejects(
    guestOf(
      [
        [201, { id: 'ses_1' }],
        [201, { id: 'ses_2' }],
      ].values() as never,
    ).session(),
    { message: /made ses_1 and ses_2/ },
  );
  await t.rejects(guestOf([[404, {}]].values() as never).end('ses_1'), { message: /404 instead of 200/ });
});
