/** The cost of refusing a request. */
import { startHouse, storeFolder, type House } from '../contenders/parley.ts';
import { startRedis, whyNoRedis } from '../contenders/redis.ts';
import { edge } from '../contenders/edge.ts';
import { floor } from '../contenders/simple.ts';
import { message, post, type Contender, type Instance, type Surroundings } from '../harness/contender.ts';
import { pick, type Measurement, type Question, type Size } from '../harness/question.ts';
import { loadCore, openWindow } from '../harness/window.ts';

const abreast = 32;
const requests: Readonly<Record<Size, number>> = { full: 60_000, quick: 30_000, smoke: 50 };
const [refusal, cpu] = ['a request', 'CPU per request'];

const obstacle =
  'The key is hashed, found and charged; then come a log line, a metric and the rate headers. The log is the dearest, then the hash.';

/** The request that the server refuses: its key has one request a minute, and has used it. */
const refused = (house: House): string =>
  post('/sessions/ses_none/chat', { message }, { authorization: `Bearer ${house.key}` });

async function refusing(house: House, { load }: Surroundings): Promise<Instance> {
  await load.repeat(house.ports[0]!, refused(house), 404, 1, 1);
  return { ...house, conversations: async () => [refused(house)] };
}

const limited: Contender = {
  name: 'parley',
  note: 'Authenticates the key, charges its budget and refuses with 429, rate headers and the one error shape; the body is not read.',
  standing: 'always',
  async start(surroundings) {
    const { folder, remove } = await storeFolder();
    const house = await startHouse({ store: `lmdb:${folder}`, surroundings, requests: 1 });
    return { ...(await refusing(house, surroundings)), stop: () => house.stop().then(remove) };
  },
};

const limitedRedis: Contender = {
  name: 'parley, Redis',
  note: 'As above; each refusal is told to Redis, since it costs one as well.',
  standing: 'always',
  absent: whyNoRedis,
  async start(surroundings) {
    const redis = await startRedis();
    const house = await startHouse({ store: redis.url, surroundings, requests: 1 });
    return {
      ...(await refusing(house, surroundings)),
      beside: [redis.process],
      stop: () => house.stop().then(redis.stop),
    };
  },
};

/** The floor's own fixed answer: the cost of uWebSockets.js without our edge. */
const bare: Contender = {
  ...floor,
  name: 'uWebSockets.js',
  note: 'One fixed answer from uWebSockets.js itself: no request id, no look at the headers.',
  start: async (surroundings) => ({
    ...(await floor.start(surroundings)),
    conversations: async () => ['GET /answer HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n'],
  }),
};

async function measure(measurement: Measurement): Promise<Record<string, number>> {
  const { instance, contender, size, surroundings } = measurement;
  const [request] = await instance.conversations({ tokens: 1, rate: 0 }, 1);
  const used = openWindow(measurement);
  await surroundings.load.repeat(
    instance.ports[0]!,
    request!,
    contender.startsWith('parley') ? 429 : 200,
    requests[size],
    abreast,
  );
  const { seconds, microseconds, loadCore: share } = used();
  return { [cpu]: microseconds / requests[size], answers: requests[size] / seconds, [loadCore.name]: share };
}

export const limiter: Question = {
  name: 'limiter',
  title: 'A request refused by the limiter',
  method: `The same request from ${abreast} clients of one key that is over its budget, against one fixed answer of the edge with as many headers and bytes.`,
  figures: [{ name: cpu, unit: 'µs' }, { name: 'answers', unit: '/s' }, loadCore],
  contenders: [edge, limited, limitedRedis, bare],
  yardstick: { contender: edge.name, figure: cpu },
  cases: () => [refusal],
  goals: [
    {
      text: 'a refusal ≤ 1.5 × the cheapest answer of the edge',
      kind: 'ratio',
      of: pick(limited.name, refusal, cpu),
      against: pick(edge.name, refusal, cpu),
      most: 1.5,
      obstacle,
    },
  ],
  measure,
};
