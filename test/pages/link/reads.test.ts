/** Reads of the public link: 600 a minute for an address, for all kinds of reads (contract 9). */
import t from 'tap';
import { edges, openHouse, type Answer } from '../../api/house.ts';
import { isRefused, limitedFor, unrated } from '../../api/refusal.ts';
import { linked, site, Visit } from './visits.ts';

const perMinute = 600;
const from = (address: string) => ({ 'x-forwarded-for': address });
const [stranger, neighbour, other] = ['203.0.113.7', '203.0.113.8', '198.51.100.1'];

for (const edge of edges) {
  t.test(`an address reads the link ${perMinute} times a minute, and no more (${edge})`, async (t) => {
    const house = await openHouse(t, { env: { PARLEY_EDGE: edge, PARLEY_TRUSTED_PROXIES: '127.0.0.1' } });
    await linked(house, 'reads');
    const visit = await Visit.to(house, 'reads', { headers: from(other) });
    const session = await visit.session();
    const stream = await visit.stream(session);
    await stream.rest();
    const place = `/sessions/${session.id}`;
    const events = `${place}/turns/${stream.turnId}/events`;
    // The pages are in no document, so nothing is held to it here.
    const read = async (path: string, headers: Readonly<Record<string, string>>): Promise<Answer> => {
      const response = await fetch(`${house.url}/p/reads${path}`, {
        headers: { authorization: `Bearer ${visit.token}`, ...headers },
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        text,
        json: text.startsWith('{') ? JSON.parse(text) : undefined,
      };
    };
    const paths = ['/about', place, `${place}/transcript`, events, ''];
    const began = performance.now();
    // Some at a time: the budget refills by ten a second while it is used up.
    const burst = (path: string, headers: Readonly<Record<string, string>> = from(stranger)) =>
      Promise.all(Array.from({ length: 40 }, () => read(path, headers)));
    let passed = 0;
    for (let at = 0, isOver = false; !isOver; at++) {
      const answers = await burst(paths[at % paths.length]!);
      const through = answers.filter(({ status }) => status === 200).length;
      passed += through;
      isOver = through < answers.length;
    }
    const refilled = Math.ceil(((performance.now() - began) * perMinute) / 60_000);
    t.ok(passed >= perMinute && passed <= perMinute + refilled, `${passed} passed`);
    const refusedOne = async (path: string, headers?: Readonly<Record<string, string>>) =>
      (await burst(path, headers)).find(({ status }) => status === 429)!;
    for (const path of paths) isRefused(t, await refusedOne(path), unrated(limitedFor(1)), `a read of ${path}`);
    t.equal(
      (await refusedOne(place, { ...from(stranger), origin: site })).headers.get('access-control-allow-origin'),
      site,
      'a listed site reads the refusal',
    );
    t.equal((await read(place, from(neighbour))).status, 200, 'another address');
    t.equal(
      (await visit.ask('/sessions', { body: {}, headers: from(stranger) })).status,
      201,
      'a request that reads nothing',
    );
    t.equal((await house.ask('/sessions', { headers: from(stranger) })).status, 200, 'the API');
    t.match((await house.ask('/metrics', { key: null })).text, /^parley_limited_total\{budget="link_reads"\} [1-9]/m);
  });
}
