/** Which page an address names. Each is loaded when it is first shown. */
import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Empty } from './parts/empty.tsx';
import { Wait } from './parts/wait.tsx';
import { go, inWorkspace, pathOf, segments, workspaceId } from './route.ts';
import { firstWorkspace } from './workspaces.ts';

type Loaded = { readonly default: FunctionComponent };

/** By the first part of the path in a workspace: its list, and one of it. */
const ofWorkspace: Readonly<Record<string, readonly [list: () => Promise<Loaded>, one?: () => Promise<Loaded>]>> = {
  live: [() => import('./pages/live.tsx'), () => import('./pages/actor.tsx')],
  assistants: [() => import('./pages/assistants.tsx'), () => import('./pages/assistant.tsx')],
  keys: [() => import('./pages/keys.tsx'), () => import('./pages/key.tsx')],
  sessions: [() => import('./pages/sessions.tsx'), () => import('./pages/session.tsx')],
  credentials: [() => import('./pages/credentials.tsx')],
  usage: [() => import('./pages/usage.tsx')],
};

const ofInstallation: Readonly<Record<string, () => Promise<Loaded>>> = {
  load: () => import('./pages/load.tsx'),
  workspaces: () => import('./pages/workspaces.tsx'),
  people: () => import('./pages/people.tsx'),
};

function named(parts: readonly string[]): (() => Promise<Loaded>) | null {
  const [first = '', second, third] = parts;
  if (!first.startsWith('wks_')) return parts.length === 1 ? (ofInstallation[first] ?? null) : null;
  const [list, one] = ofWorkspace[second ?? ''] ?? [];
  return (third === undefined ? list : one) ?? null;
}

const loaded = new Map<() => Promise<Loaded>, FunctionComponent>();

export function Page() {
  const parts = segments.value;
  const load = named(parts);
  const [, drawn] = useState(0);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    if (load === null || loaded.has(load)) return;
    setFailed(false);
    load().then(
      (module) => {
        loaded.set(load, module.default);
        drawn((times) => times + 1);
      },
      () => setFailed(true),
    );
  }, [load]);
  useEffect(() => void (parts.length < 2 && load === null && begin(parts)), [parts.join('/')]);
  if (load === null) return parts.length < 2 ? <Wait /> : <Nothing />;
  if (failed) return <Updated />;
  const Shown = loaded.get(load);
  return Shown === undefined ? <Wait /> : <Shown key={parts.slice(0, 4).join('/')} />;
}

/** `/console` leads to the first workspace, and a workspace to its live charts. */
async function begin([first]: readonly string[]): Promise<void> {
  if (first?.startsWith('wks_')) return go(pathOf(first, 'live'), { replace: true });
  if (first !== undefined) return;
  const id = await firstWorkspace();
  go(id === null ? pathOf('workspaces') : pathOf(id, 'live'), { replace: true });
}

function Nothing() {
  const home = workspaceId.value === null ? pathOf() : inWorkspace('live');
  return (
    <Empty name="There is no such page" first={<a class="button" href={home}>To the live charts</a>}>
      The address may be wrong, or what it named was deleted.
    </Empty>
  );
}

/** The files of this page have other names now: the server is another version. */
function Updated() {
  return (
    <Empty name="This page could not be loaded" first={<button onClick={() => location.reload()}>Reload</button>}>
      The network is lost, or the server has been updated since this page was opened. Reload to go on where you are.
    </Empty>
  );
}
