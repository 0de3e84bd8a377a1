/** A session with tools continues at every strict provider, for all calls of its model (contract 13; R4). */
import t from 'tap';
import { strictNames } from '../providers/strict/names.mjs';
import { openWorkspace } from './house.ts';
import { caseNames, resendingAt, rowOf, tourOf } from './strict-table.ts';

for (const name of strictNames) {
  t.test(`[R4] a session with tools takes all of its turns at ${name}`, async (t) => {
    const { outcomes, refused } = await rowOf(t, await openWorkspace(), name);
    for (const [index, outcome] of outcomes.entries()) t.equal(outcome, null, caseNames[index]!);
    // A request is refused once for each thing that is learnt of the provider.
    t.ok(refused <= 6, `${refused} requests were refused`);
  });
}

for (const name of ['Kimi', 'DeepSeek', 'xAI', 'DeepSeek for Anthropic'] as const) {
  t.test(
    `[R4] a session with tools takes all of its turns at ${name}, though it gives no reason for a refusal`,
    async (t) => {
      const { outcomes } = await rowOf(t, await openWorkspace(), name, { isSilent: true });
      for (const [index, outcome] of outcomes.entries()) t.equal(outcome, null, caseNames[index]!);
    },
  );
}

t.test('[R4] a session goes from provider to provider, and each takes what the others have called', async (t) => {
  for (const names of [strictNames, strictNames.toReversed()]) {
    const outcomes = await tourOf(t, await openWorkspace(), names);
    for (const [index, outcome] of outcomes.entries()) t.equal(outcome, null, names[index]!);
  }
});

t.test(
  "[R4] a caller that resends its own calls is answered at each provider, without the provider's fields on them",
  async (t) => {
    for (const name of strictNames)
      for (const isSilent of [false, true])
        t.equal(await resendingAt(t, await openWorkspace(), name, { isSilent }), null, name);
  },
);
