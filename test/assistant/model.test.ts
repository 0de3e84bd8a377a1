/** The model of an assistant in one turn: its credentials and its bound of tokens (contract 19). */
import t from 'tap';
import { AssistantModel } from '../../src/assistant/model.ts';
import { ModelHealth } from '../../src/assistant/model-health.ts';
import type { AssistantServices } from '../../src/assistant/services.ts';

import type { Assistant, Credential, Session } from '../../src/store/store.ts';
import { ManualClock } from '../providers/model/provider.ts';

const message = (content: string) => ({ role: 'user', content }) as never;

/** An assistant whose models are named `m0` and so on, and the ids of the credentials that were opened. */
function stage(names: readonly string[], fields: object = {}) {
  const opened: string[] = [];
  const services = {
    host: {
      credentials: {
        of: async (workspaceId: string, id: string) =>
          ({ id, workspaceId, kind: 'model', provider: 'openai', baseUrl: `https://${id}.example/v1` }) as Credential,
      },
    },
    vault: { open: ({ id }: Credential) => (opened.push(id), 'secret') },
    models: new Map([['openai', { provider: 'openai', needsCredential: true, start: () => ({ cancel: () => {} }) }]]),
    modelHealth: new ModelHealth(new ManualClock()),
    metrics: { modelFallbacks: { inc: () => {} } },
  } as unknown as AssistantServices;
  const [own, ...fallbacks] = names.map((name) => ({ provider: 'openai', name, credentialId: `cred_${name}` }));
  const assistant = {
    workspaceId: 'wks_1',
    name: 'Test',
    greeting: null,
    model: { ...own, fallbacks, systemPrompt: null, temperature: null, outputTokensMax: null, ...fields },
  } as unknown as Assistant;
  return { opened, model: new AssistantModel(assistant, {} as Session, services, {}) };
}

t.test('a credential is opened once for a request to its model, and none for a model that is not asked', async (t) => {
  for (const names of [['m0'], ['m0', 'm1'], ['m0', 'm1', 'm2']]) {
    const { model, opened } = stage(names);
    for (const [index, name] of names.entries()) {
      t.not(await model.prepare([message('Hello')], 0), null);
      t.same(model.asked, { provider: 'openai', name, fallback: index });
      t.same(
        opened,
        names.slice(0, index + 1).map((one) => `cred_${one}`),
      );
      model.noteEnd('status');
      model.next();
    }
  }
});

t.test('the bound of a turn is the prompt, the messages and the most output', async (t) => {
  const bound = (fields: object, ...texts: string[]) =>
    stage(['m0'], fields).model.tokensMax(
      texts.map((text) => ({ role: 'user', content: text })),
      0,
    );
  t.equal(await bound({}, 'Hello'), 2 + 1000);
  t.equal(await bound({ outputTokensMax: 50 }, 'Hello'), 2 + 50);
  t.equal(await bound({ outputTokensMax: 50, systemPrompt: 'x'.repeat(40) }, 'Hello', 'Hello'), 10 + 2 * 2 + 50);
  t.equal(await bound({ outputTokensMax: 50, historyTokensMax: 10 }, 'x'.repeat(400), 'Hello'), 2 + 50, 'what is cut');
  t.equal(await bound({ outputTokensMax: 50 }, '你好你好'), 4 + 50);
});
