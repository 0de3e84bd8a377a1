/** Pages for addresses that lead nowhere: to a thing that is not there, or with a part that cannot be read. */
import type { ComponentChildren } from 'preact';
import type { ApiFailure } from '../api.ts';
import { drawnFor } from '../person.ts';
import { refresh } from '../data.ts';
import { inWorkspace, pathOf, workspaceId } from '../route.ts';
import { Empty } from './empty.tsx';
import { Failure } from './failure.tsx';
import { Head } from './head.tsx';
import { Wait } from './wait.tsx';

interface Options {
  readonly name: string;
  readonly children: ComponentChildren;
  /** The way on: its address and name. */
  readonly to?: readonly [path: string, name: string];
}

export function Lost({ name, children, to }: Options) {
  const [path, words] =
    to ?? (workspaceId.value === null ? [pathOf(), 'To the console'] : [inWorkspace('live'), 'To the live charts']);
  return (
    <>
      <Head name={name} />
      <Empty
        name="Nothing stands at this address"
        first={
          <a class="button" href={path}>
            {words}
          </a>
        }
      >
        {children}
      </Empty>
    </>
  );
}

/** A page that the person's role does not permit. */
export const NotPermitted = () => (
  <>
    <Head name="Your role does not permit this" />
    <Empty
      name={`You are signed in as ${drawnFor.value?.role ?? 'nobody'}`}
      first={
        <a class="button" href={pathOf()}>
          To the console
        </a>
      }
    >
      An owner can change your role on the page People.
    </Empty>
  </>
);

interface UnreadOptions {
  /** The kind of thing, as in "assistant". */
  readonly what: string;
  /** The list that it would be in. */
  readonly list: readonly [path: string, name: string];
  readonly failure: ApiFailure | null;
  readonly again: () => void;
}

/** A thing that has not been read: it is waited for, it does not exist, or the server said why. */
export function Unread({ what, list, failure, again }: UnreadOptions) {
  if (failure === null) return <Wait />;
  if (failure.status === 404)
    return (
      <Lost name={`There is no such ${what}`} to={[list[0], `To ${list[1]}`]}>
        The address may be wrong, or the {what} was deleted, or belongs to another workspace.
      </Lost>
    );
  if (failure.code === 'role_not_permitted') return <NotPermitted />;
  return (
    <>
      <Head name={`The ${what} could not be read`} above={list} />
      <Failure failure={failure} again={again} />
    </>
  );
}

interface UnreadAssistantOptions {
  /** The assistant's, in the API. */
  readonly path: string;
  readonly failure: ApiFailure | null;
}

export const UnreadAssistant = ({ path, failure }: UnreadAssistantOptions) => (
  <Unread
    what="assistant"
    list={[inWorkspace('assistants'), 'Assistants']}
    failure={failure}
    again={() => void refresh(path)}
  />
);
