/** V3: a token opens one socket, whichever of three processes is asked, and however many at once. */
import type { House } from '../api/house.ts';
import { mint, open, speaker } from '../providers/voice/talker.ts';
import type { Experiment, Trial } from './experiment.ts';
import { Ground, lackingRedis, several } from './ground.ts';

const racesCount = 20;
const racersCount = 6;
/** No audio is sent on the sockets, and models that listen take longer to load than all the races. */
const mute = { PARLEY_SYNTHETIC: '1', PARLEY_VOICE_PROCESSES: '0' };

export const oneSocketForEachToken: Experiment = {
  promise: 'V3',
  name: 'tokens',
  does: `${racersCount} upgrades at once for each of ${racesCount} tokens, on three processes`,
  stores: ['redis'],
  abreast: { lmdb: 1, redis: 1 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const houses = await several(3, () => ground.server(mute));
    const { id } = await speaker(houses[0]!, {
      voice: { provider: 'synthetic', name: 'character_ms=1', transcription_name: 'texts=hello' },
    });
    return (trial) => race(trial, houses, id);
  },
};

async function race(trial: Trial, houses: readonly House[], assistantId: string): Promise<void> {
  for (let count = 0; count < racesCount; count++) {
    const { token } = await mint(trial.random.pick(houses), assistantId);
    const racers = Array.from({ length: racersCount }, () =>
      open(`${trial.random.pick(houses).url.replace('http', 'ws')}/transcription?token=${token}`),
    );
    const opened = await Promise.all(
      racers.map((talker) =>
        talker.until('ready').then(
          () => true,
          () => false,
        ),
      ),
    );
    const count = opened.filter((one) => one).length;
    trial.must(count === 1, `${count} sockets were opened with one token`);
    trial.count('races');
    for (const { socket } of racers) socket.close();
    await Promise.all(racers.map(({ closed }) => closed));
  }
}
