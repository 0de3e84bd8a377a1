/**
 * The contract suite must reject stores that are broken: each of these is the memory store with one verb gone wrong.
 */
import t from 'tap';
import { memoryStore } from '../../src/store/memory.ts';
import { type Steps, wrapStore } from '../../src/store/steps.ts';
import type { Store } from '../../src/store/store.ts';
import { type Factory, verdict } from './contract.ts';
import { rejected, unknownCases } from './rejected.ts';
import type { BrokenStores } from './broken/broken-stores.ts';
import { brokenTurns } from './broken/turns.ts';
import { brokenWebhooks } from './broken/webhooks.ts';
import { brokenSessions } from './broken/sessions.ts';
import { brokenReleases } from './broken/releases.ts';
import { brokenLimits } from './broken/limits.ts';
import { brokenTexts } from './broken/texts.ts';
import { brokenToolCalls } from './broken/tool-calls.ts';
import { brokenErasures } from './broken/erasures.ts';
import { brokenCatalog } from './broken/catalog.ts';

/** A memory store with some of its steps replaced. */
const factory =
  (breaking: (sound: Store) => Partial<Steps>): Factory =>
  async () => {
    const sound = memoryStore();
    await sound.open(Date.now());
    const steps = breaking(sound);
    return { store: wrapStore(sound, (name) => steps[name]), dispose: () => sound.close() };
  };

const broken: BrokenStores = {
  ...brokenTurns,
  ...brokenWebhooks,
  ...brokenSessions,
  ...brokenReleases,
  ...brokenLimits,
  ...brokenTexts,
  ...brokenToolCalls,
  ...brokenErasures,
  ...brokenCatalog,
};

t.test('a sound store passes', async (t) => {
  t.same(unknownCases(), []);
  t.same(await verdict(factory(() => ({}))), []);
});

for (const [name, breaking] of Object.entries(broken)) {
  t.test(`rejected: ${name}`, async (t) => {
    await rejected(t, name, factory(breaking), (error) => !(error instanceof TypeError));
  });
}
