/** P3, where the replies of the store are lost: an acknowledged step is stored, and a step answered 503 has left nothing behind. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Experiment, Trial } from './experiment.ts';
import { Ground, lackingRedis, several, type Member } from './ground.ts';
import { Insistent } from './insistent.ts';
import { isRedisStep, type Way } from './way.ts';

const customersCount = 4;
const actsCount = 6;

export const answeredIsStored: Experiment = {
  promise: 'P3',
  name: 'replies',
  does: 'replies of Redis cut, stalled and lost in the middle of everything',
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 2 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const members = await several(2, () => ground.member());
    return (trial) => loseReplies(trial, members);
  },
};

async function loseReplies(trial: Trial, members: readonly Member[]): Promise<void> {
  const { house } = members[0]!;
  const credentialId = (await house.console(`/workspaces/${house.workspaceId}/credentials`)).json.data.at(-1).id;
  const customers: Insistent[] = [];
  for (let index = 0; index < customersCount; index++) {
    const { id } = await house.assistant({ model: { provider: 'openai', name: 'speaker', credential_id: credentialId } });
    customers.push(new Insistent(members.map((member) => member.house), trial, `s${trial.seed}c${index}`, id));
  }
  let over = false;
  const troubled = members.map(({ way }) => trouble(trial, way, () => over));
  try {
    await Promise.all(customers.map((customer) => customer.live(actsCount)));
  } finally {
    over = true;
    await Promise.all(troubled);
  }
  for (const customer of customers) for (const member of members) await customer.check(member.house);
}

/** Recognises the replies of steps that move something. */
const replies: Readonly<Record<string, RegExp>> = {
  creations: /\$7\r\ncreated\r\n/,
  beginnings: /\$5\r\nbegun\r\n/,
  pieces: /\$6\r\nstored\r\n/,
  endings: /\$8\r\nfinished\r\n/,
  moves: /^\*\d+\r\n:\d+\r\n/,
};

type Fault = (trial: Trial, way: Way) => Promise<void>;

const faults: Readonly<Record<string, Fault>> = {
  /** The connection is cut instead of a reply; the step is sent again. */
  cut: async ({ random }, way) => {
    way.loseReply(random.between(1, 20));
    await pause(random.between(20, 300));
  },
  /** The reply of a step of one kind is lost, and for a while there is no way to send it again. */
  lost: async (trial, way) => {
    const [what, reply] = trial.random.pick(Object.entries(replies));
    const closed = new Promise<void>((resolve) => {
      way.isReply = (bytes) => {
        const isWanted = isRedisStep(bytes) && reply.test(bytes.toString('latin1'));
        if (isWanted) way.close();
        if (isWanted) resolve();
        return isWanted;
      };
    });
    way.loseReply(1);
    await Promise.race([closed, pause(trial.random.between(500, 2000))]);
    if (way.lost) trial.count(`${what} lost`);
    await pause(trial.random.between(500, 3000));
    way.isReply = isRedisStep;
  },
  /** Steps are taken, and their replies come late or too late. */
  stalled: async ({ random }, way) => {
    way.stall(['back']);
    await pause(random.between(200, 3000));
  },
};

/** One fault after the other on a way, with pauses in which the work goes on. */
async function trouble(trial: Trial, way: Way, over: () => boolean): Promise<void> {
  while (!over()) {
    const what = trial.random.pick(Object.keys(faults));
    await faults[what]!(trial, way);
    way.mend();
    trial.count(what);
    await pause(trial.random.between(200, 800));
  }
}
