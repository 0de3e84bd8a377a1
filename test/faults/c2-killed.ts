/**
 * C2: kill -9 of the server while calls speak: what their listeners have heard is stored, and a second more at most.
 */
import type { Caller } from '../api/caller.ts';
import type { House } from '../api/house.ts';
import type { Experiment, Trial } from './experiment.ts';
import { lackingRedis, sealed } from './ground.ts';
import { Loudspeaker } from './loudspeaker.ts';
import { asking, Script } from './script.ts';
import { sealedReply, Stage, within } from './stage.ts';

const callsCount = 3;
const sentencesCount = 8;
const aheadMs = 1_000;
const samplesPerMs = 16;

interface Speaking {
  readonly caller: Caller;
  readonly loudspeaker: Loudspeaker;
  readonly script: Script;
  readonly messageId: string;
}

/** The listener when the server died. */
interface Left {
  readonly speaking: Speaking;
  readonly played: number;
  readonly told: string;
}

export const killedWhileSpeaking: Experiment = {
  promise: 'C2',
  name: 'kill',
  does: `kill -9 of the server while it speaks in ${callsCount} calls, at the pace of speech`,
  stores: ['lmdb', 'redis'],
  abreast: { lmdb: 2, redis: 4 },
  lacking: lackingRedis,
  async open(t, store) {
    const stage = await Stage.open(t, store);
    const server = (): Promise<House> => stage.ground.server({ PARLEY_SYNTHETIC: '1' });
    let house = await server();
    const survivor = house;
    return async (trial) => {
      const victim = store === 'lmdb' ? house : await server();
      const all: Speaking[] = [];
      for (let index = 0; index < callsCount; index++)
        all.push(await speak(stage, victim, trial.seed * callsCount + index));
      const left = await kill(trial, victim, all);
      if (store === 'lmdb') house = await server();
      for (const one of left) await check(trial, store === 'lmdb' ? house : survivor, one);
    };
  },
};

async function speak(stage: Stage, house: House, seed: number): Promise<Speaking> {
  const caller = await stage.call(house, await stage.assistant(house, 'texts=unheard'));
  const loudspeaker = new Loudspeaker(caller);
  caller.send({ type: 'message', text: asking(seed, sentencesCount) });
  const { message_id: messageId } = await caller.until('audio.start');
  return { caller, loudspeaker, script: new Script(seed, sentencesCount), messageId };
}

/** The longest of the replies lasts some ten seconds. */
async function kill({ random }: Trial, house: House, all: readonly Speaking[]): Promise<Left[]> {
  await new Promise((resolve) => setTimeout(resolve, random.between(0, 7_000)));
  const ended = house.kill('SIGKILL');
  const left = all.map((speaking) => ({
    speaking,
    played: speaking.loudspeaker.played,
    told: speaking.caller.textOf(speaking.messageId),
  }));
  await ended;
  await Promise.all(all.map(({ caller }) => caller.closed));
  return left;
}

async function check(
  trial: Trial,
  house: House,
  { speaking: { caller, script, messageId }, played, told }: Left,
): Promise<void> {
  const { id } = caller.session;
  await sealed(house, id);
  const reply = await sealedReply(trial, house, id, id);
  trial.must(reply.id === messageId, `${id}: the reply is ${reply.id} instead of ${messageId}`);
  trial.count('calls');
  // A reply that was shorter had been played.
  if (reply.status === 'completed')
    return trial.must(
      reply.content === script.text,
      `${id}: a whole reply is stored as ${JSON.stringify(reply.content)}`,
    );
  const heard = script.heardAt(played);
  // The server sends no more than a second beyond the last report, which is no newer than what was played.
  within(
    trial,
    script,
    reply.content,
    [told.length > heard.length ? told : heard, script.begunAt(played + aheadMs * samplesPerMs)],
    id,
  );
  const ended = `${reply.status} ${reply.stop_reason} ${reply.error_code} ${reply.voice?.heard} ${reply.voice?.cut_by}`;
  trial.must(ended === 'partial error api_error sent null', `${id}: it ended as ${ended}`);
  trial.measured('characters beyond what was heard', [...reply.content].length - [...heard].length);
  const { json, status } = await house.ask('/call-tokens', { body: { session_id: id } });
  trial.must(status === 201, `${id}: a new token is answered ${status} ${json?.error?.code}`);
}
