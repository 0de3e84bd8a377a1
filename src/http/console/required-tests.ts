/** The check that a draft has passed the tests that its assistant requires (contract 21). */
import { Failure } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { scriptDigest, testsDigest } from '../../conversation/testing/tests.ts';
import { ownIdOf } from '../../store/records/tests.ts';
import type { Assistant, PageRequest } from '../../store/store.ts';
import { reachPathAssistant, type ConsoleRequest } from './common.ts';
import { draftCheck } from './drafts.ts';
import { pageOfAssistant, testsOf } from './tests.ts';

type DraftCheck = (digest: string) => void;

/** Returns the check that publishing makes within its step: `draftCheck`, then `testsCheck`. */
export async function testedDraftCheck(request: ConsoleRequest<unknown, any>): Promise<DraftCheck> {
  const isExpected = draftCheck(request);
  const hasPassed = await testsCheck(request);
  return (digest) => {
    isExpected(digest);
    hasPassed(digest);
  };
}

/** Returns the check that throws 409 `tests_not_passed` for a draft that has not passed the tests it must pass. */
export async function testsCheck(request: ConsoleRequest<unknown, any>): Promise<DraftCheck> {
  const { record } = await reachPathAssistant(request);
  if (!record.requireTests) return () => {};
  const passed = await passedDigests(record, request);
  return (digest) => {
    if (!passed.has(digest)) throw new Failure('tests_not_passed');
  };
}

/** The digests whose newest run of all tests has passed, with the tests as they are now. */
async function passedDigests(assistant: Assistant, request: ConsoleRequest<unknown, any>): Promise<Set<string>> {
  const tests = await testsOf(request, assistant);
  if (tests.length === 0) return new Set();
  const wanted = testsDigest(tests.map((test) => ({ testId: ownIdOf(test), digest: scriptDigest(test) })));
  const seen = new Set<string>();
  const passed = new Set<string>();
  for (let after: string | null = null; ;) {
    const page: PageRequest = { limit: limits.listMax, after, order: 'desc' };
    const { items, next } = await pageOfAssistant(request, assistant, 'test_run', page);
    for (const { plan, digest, machine, testsDigest: played } of items) {
      if (plan.kind !== 'tests' || !plan.all || seen.has(digest)) continue;
      seen.add(digest);
      if (machine.state === 'passed' && played === wanted) passed.add(digest);
    }
    if (next === null) return passed;
    after = next;
  }
}
