/** The console's page: asks who is signed in, then shows the page of the address. */
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { ApiFailure, ask, patiently } from './api.ts';
import { isLocked, person, visit } from './person.ts';
import { expectPage, Page } from './pages.tsx';
import { Shell } from './parts/shell.tsx';
import { followLinks, segments } from './route.ts';
import { LockedPage, SignIn, signInLink } from './pages/sign-in.tsx';
import type { Person } from './types.ts';

async function recognise(): Promise<void> {
  try {
    person.value = await patiently(() => ask<Person>('/me'), new AbortController().signal);
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error;
    person.value = null;
  }
}

function Console() {
  // The sign-in page does not ask the server who is signed in.
  const signing = signInLink.value !== null || segments.value[0] === 'sign-in';
  useEffect(() => void (!signing && person.peek() === undefined && recognise()), [signing]);
  if (signing || (person.value === null && !isLocked.value)) return <SignIn />;
  if (person.value === undefined) return null;
  return (
    <>
      <Shell key={visit.value}>
        <Page />
      </Shell>
      {isLocked.value && <LockedPage />}
    </>
  );
}

followLinks();
if (signInLink.peek() === null) expectPage();
render(<Console />, document.getElementById('page')!);
