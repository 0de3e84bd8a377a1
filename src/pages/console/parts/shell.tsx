/** The frame around every page: the navigation, the workspace, the signed-in person. */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { ask } from '../api.ts';
import { connection } from '../feed.ts';
import { leaveConsole } from '../leaving.ts';
import { mayRead } from '../may.ts';
import { person } from '../person.ts';
import { announced } from '../arrival.ts';
import { address, go, pathOf, segments, workspaceId } from '../route.ts';
import { readWorkspaces, workspaces, workspacesFailure } from '../workspaces.ts';
import { Failure } from './failure.tsx';

const ofWorkspace = [
  ['live', 'Live'],
  ['desk', 'Desk'],
  ['assistants', 'Assistants'],
  ['tools', 'Tools'],
  ['keys', 'Keys'],
  ['webhooks', 'Webhooks'],
  ['sessions', 'Sessions'],
  ['usage', 'Usage'],
  ['credentials', 'Credentials'],
] as const;

const ofInstallation = [
  ['load', 'Load'],
  ['workspaces', 'Workspaces'],
  ['people', 'People'],
  ['audit', 'Audit'],
] as const;

/** The workspace whose pages the navigation leads to, also from a page of the installation. */
const lastWorkspace = { id: null as string | null };

const isPermitted = ([page]: readonly [string, string]): boolean => mayRead(page);

export function Shell({ children }: { children: ComponentChildren }) {
  useEffect(() => void (workspaces.peek() === null && readWorkspaces()), []);
  lastWorkspace.id = workspaceId.value ?? lastWorkspace.id ?? workspaces.value?.[0]?.id ?? null;
  const [first, second] = segments.value;
  const shown = workspaceId.value === null ? first : second;
  const here = (name: string) => (name === shown ? ('page' as const) : undefined);
  const workspace = lastWorkspace.id;
  const nav = useRef<HTMLElement>(null);
  // The navigation on a phone is one line that scrolls.
  useEffect(
    () => nav.current?.querySelector('[aria-current="page"]')?.scrollIntoView({ inline: 'center', block: 'nearest' }),
    [shown, workspace],
  );
  return (
    <div class="shell">
      <a class="skip" href="#main">
        To the content
      </a>
      <nav aria-label="Console" ref={nav}>
        <a class="brand" href={pathOf()}>
          parley
        </a>
        {workspace !== null && <Switcher id={workspace} />}
        {workspace !== null &&
          ofWorkspace.filter(isPermitted).map(([path, name]) => (
            <a key={path} href={pathOf(workspace, path)} aria-current={here(path)}>
              {name}
            </a>
          ))}
        <hr />
        {ofInstallation.filter(isPermitted).map(([path, name]) => (
          <a key={path} href={pathOf(path)} aria-current={here(path)}>
            {name}
          </a>
        ))}
        <Me />
      </nav>
      <Arrival />
      <main id="main" tabIndex={-1}>
        <Banner />
        <Failure failure={workspacesFailure.value} again={() => void readWorkspaces()} />
        {children}
      </main>
    </div>
  );
}

/**
 * After another page was chosen the focus is in the content, until its heading is there, and the page's title is
 * announced.
 */
function Arrival() {
  const { pathname } = address.value;
  const shown = useRef(pathname);
  useLayoutEffect(() => {
    if (shown.current === pathname) return;
    shown.current = pathname;
    document.getElementById('main')!.focus({ preventScroll: true });
  }, [pathname]);
  return (
    <p class="visually-hidden" role="status">
      {announced.value}
    </p>
  );
}

/** The other workspaces, in a popover of the browser's. */
function Switcher({ id }: { id: string }) {
  const list = useRef<HTMLDivElement>(null);
  const all = workspaces.value ?? [];
  const name = all.find((one) => one.id === id)?.name ?? (workspaces.value === null ? '…' : 'Unknown workspace');
  const page = workspaceId.value === null ? 'live' : (segments.value[1] ?? 'live');
  return (
    <div class="switcher">
      <button type="button" popovertarget="workspaces" aria-haspopup="true" title={id}>
        <span class="visually-hidden">Workspace: </span>
        {name}
      </button>
      <div
        id="workspaces"
        popover="auto"
        ref={list}
        role="group"
        aria-label="Workspaces"
        onClick={() => list.current!.hidePopover()}
      >
        {all.map((one) => (
          <a key={one.id} href={pathOf(one.id, page)} aria-current={one.id === id ? 'true' : undefined}>
            {one.name}
          </a>
        ))}
        <a href={pathOf('workspaces')}>All workspaces …</a>
      </div>
    </div>
  );
}

function Me() {
  const leave = async () => {
    await ask('/sign-out', { method: 'POST', body: {} }).catch(() => {});
    leaveConsole();
    go(pathOf('sign-in'));
  };
  return (
    <footer>
      <span class="who">{person.value?.name}</span>
      <button type="button" class="quiet" onClick={() => void leave()}>
        Sign out
      </button>
    </footer>
  );
}

/** Shown only while the connection is lost. */
function Banner() {
  return (
    <div aria-live="polite" class="notices">
      {connection.value === 'lost' && (
        <p class="banner">The connection is lost. Reconnecting; what is shown may be old.</p>
      )}
    </div>
  );
}
