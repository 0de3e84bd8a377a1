/**
 * P2: the way to the provider is cut, half closed or stalled at a random byte; the turn is partial, and all of it that
 * was seen is stored.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { credentialOf, transcriptOf } from '../api/talk.ts';
import type { House } from '../api/house.ts';
import { checkRefusal } from './customer.ts';
import type { Experiment, Trial } from './experiment.ts';
import { Ground, lackingRedis, sealed } from './ground.ts';
import { talk } from './listener.ts';
import { Way } from './way.ts';
import { begins } from './words.ts';

const turnMsMax = 1500;

export const providerBreaks: Experiment = {
  promise: 'P2',
  name: 'provider',
  does: 'the provider cut, half closed or stalled at a random byte',
  stores: ['lmdb', 'redis'],
  abreast: { lmdb: 1, redis: 1 },
  lacking: lackingRedis,
  async open(t, store) {
    const ground = await Ground.open(t, store);
    const house = await ground.server({ PARLEY_TURN_MS_MAX: String(turnMsMax) });
    return async (trial) => {
      const way = await Way.open(t, Number(new URL(ground.speaker.baseUrl).port));
      const credential = await credentialOf(house, 'openai', `http://127.0.0.1:${way.port}/v1`);
      const assistant = await house.assistant({
        model: { provider: 'openai', name: 'speaker', credential_id: credential.id },
      });
      await broken(trial, house, assistant.id, way);
    };
  },
};

const breaks = {
  cut: (way: Way) => way.close(),
  halfClosed: (way: Way) => way.halfClose(),
  stalled: (way: Way) => way.stall(['back']),
};

async function broken(trial: Trial, house: House, assistantId: string, way: Way): Promise<void> {
  const { random, seed } = trial;
  const { id } = await house.session(assistantId);
  const how = random.pick(['cut', 'halfClosed', 'stalled'] as const);
  const at = random.chance(0.15) ? 0 : Math.floor(100 * 300 ** random.next());
  const tag = `s${seed}`;
  let done = false;
  const breakIt = (): void => {
    if (!done) breaks[how](way);
    done = true;
  };
  if (at === 0) breakIt();
  way.onBack = (bytes) => {
    if (bytes >= at) breakIt();
  };
  const askedAt = performance.now();
  const listener = talk(house, id, { tag, words: 1_000_000, delayMs: random.pick([0, 1, 5]) });
  // With no connection taken there is nothing to break later.
  await Promise.race([listener.over, pause(3 * turnMsMax)]);
  const told = `${how} at ${at}`;
  await listener.over;
  // The server ends a turn whose time has passed, even before any fault. A turn that its provider left ends as the
  // provider's fault. A slow machine may need the whole time of a turn to notice the fault.
  const ranOut = performance.now() - askedAt >= turnMsMax && listener.code === 'api_error';
  const due =
    ranOut || !done || how === 'stalled' || (how === 'halfClosed' && at === 0) ? 'api_error' : 'assistant_unavailable';
  await sealed(house, id);
  const messages = await transcriptOf(house, id);
  if (listener.status !== 200) {
    trial.count('refused');
    // A turn whose time passes before its first output is answered with 500, which happens on a slow machine.
    const late = due === 'api_error' && listener.status === 500;
    trial.must(
      (late || listener.status === 503) && listener.code === due,
      `${told}: refused with ${listener.status} ${listener.code}, not ${due}`,
    );
    if (due === 'api_error' && !late) checkRefusal(listener.status, listener.text, listener.requestId);
    return trial.must(messages.length === 0, `${told}: what was refused left ${messages.length} messages`);
  }
  trial.count('partial turns');
  const partial = messages[1];
  trial.must(
    listener.ending === 'error' && listener.code === due,
    `${told}: it ended as ${listener.ending} ${listener.code}, not ${due}`,
  );
  trial.must(
    begins(tag, partial.content),
    `${told}: the provider did not say ${JSON.stringify(partial.content.slice(-80))}`,
  );
  // No process died, so all stored text was sent.
  trial.must(
    partial.content === listener.seen,
    `${told}: ${listener.seen.length} characters were seen, ${partial.content.length} are stored`,
  );
  trial.must(
    partial.status === 'partial' && partial.stop_reason === 'error' && partial.error_code === due,
    `${told}: ${partial.status} ${partial.stop_reason} ${partial.error_code}`,
  );
}
