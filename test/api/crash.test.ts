/** kill -9 in the middle of streams, and a new start on the same folder (contract 6 and 7). */
import t from 'tap';
import { leased, openHouse, textOf, type StreamEvent } from './house.ts';
import { activeTurn, refused, say, sayInVain, sessionOf, synthetic, transcriptOf, until } from './talk.ts';

const lmdb = { PARLEY_STORE: 'lmdb:./data' };

t.test('what a client has seen survives the death of the process', async (t) => {
  const first = await openHouse(t, { env: lmdb });
  const flowing = await synthetic(first, 'tokens=100000,delay_ms=1,unicode=1');
  const silent = await synthetic(first, 'tokens=1,first_ms=600000');
  const brief = await synthetic(first, 'tokens=2');
  const { key } = await first.newKey({ limits: { requests: 2 } });

  const talks = await Promise.all(
    Array.from({ length: 9 }, async () => {
      const { id } = await first.session(flowing.id);
      return { id, stream: await say(first, id), seen: [] as StreamEvent[] };
    }),
  );
  const readers = talks.map(async ({ stream, seen }) => {
    for (;;) {
      const event = await stream.next().catch(() => undefined);
      if (event === undefined) return;
      seen.push(event);
    }
  });
  const waiting = await first.session(silent.id);
  const unheard = say(first, waiting.id).catch(() => 'cut');
  await activeTurn(first, waiting.id);
  refused(t, await sayInVain(first, (await first.session(brief.id)).id), 429, 'rate_limited');
  await first.ask('/assistants', { key });
  await first.ask('/assistants', { key });
  const limited = await first.ask('/assistants', { key });
  refused(t, limited, 429, 'rate_limited');
  await until(() => talks.every(({ seen }) => seen.length >= 20));

  await first.kill('SIGKILL');
  await Promise.all(readers);
  t.equal(await unheard, 'cut');
  const second = await openHouse(t, { folder: first.folder, env: lmdb });
  t.equal((await second.ask('/assistants', { key })).status, 429, "a key's debt survives");

  const sealed = async (id: string): Promise<boolean> => (await sessionOf(second, id)).active_turn_id === null;
  if (leased) for (const { id } of [...talks, waiting]) await until(() => sealed(id));
  for (const { id, stream, seen } of talks) {
    const [, partial] = await transcriptOf(second, id);
    t.ok(partial.content.startsWith(textOf(seen)) && textOf(seen) !== '', 'what was seen is a prefix of what is kept');
    t.match(partial, { status: 'partial', stop_reason: 'error', error_code: 'api_error', turn_id: stream.turnId });
    const rest = await (
      await second.stream(`/sessions/${id}/turns/${stream.turnId}/events?after=${seen.at(-1)!.id}`)
    ).rest();
    t.equal(textOf(seen) + textOf(rest), partial.content, 'a resumed stream gives the rest, once');
    t.match(rest.at(-1), { event: 'error', data: { code: 'api_error', message: 'Something went wrong on our side.' } });
    t.match(await sessionOf(second, id), { status: 'open', active_turn_id: null });
  }
  t.same(await transcriptOf(second, waiting.id), [], 'a turn that said nothing leaves nothing');

  const { totals } = (await second.ask('/usage')).json;
  t.match(totals, { turns: 9, failed_turns: 9 });
  t.ok(totals.output_tokens >= 9 && totals.input_tokens >= 9, 'their tokens are estimated');
  const again = await Promise.all(talks.map(({ id }) => say(second, id, 'And again')));
  t.equal(again.length, 9, 'the slots are free and the sessions take new turns');
  for (const stream of again) t.equal((await stream.next())!.event, 'turn.started');
});
