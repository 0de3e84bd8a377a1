/** The advice on a release that was refused because its tests have not passed. */
import { adviceOn, type ApiFailure } from '../api.ts';
import { testsPage } from './use-tests.ts';

/** `assistant`: its id. */
export const releaseAdvice = (assistant: string) => (failure: ApiFailure) =>
  failure.code === 'tests_not_passed' ? (
    <>
      Run all tests on this draft, and release it once they have passed: <a href={testsPage(assistant)}>to the tests</a>
      .
    </>
  ) : (
    adviceOn(failure)
  );
