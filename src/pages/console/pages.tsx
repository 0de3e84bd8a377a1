/** Maps an address to its page. Pages come in two bundles, each loaded when one of its pages is first shown. */
import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Empty } from './parts/empty.tsx';
import { Head } from './parts/head.tsx';
import { Wait } from './parts/wait.tsx';
import { go, inWorkspace, pathOf, segments, workspaceId } from './route.ts';
import { firstWorkspace } from './workspaces.ts';

type Lot = Readonly<Record<string, FunctionComponent<never>>>;

const lots = { desk: (): Promise<Lot> => import('./pages/desk.ts'), charts: (): Promise<Lot> => import('./pages/charts.ts') };
type LotName = keyof typeof lots;

/** By the first part of the path in a workspace: the path and name of its list, and the name of one item. */
const ofWorkspace: Readonly<Record<string, readonly [lot: LotName, list: string, one?: string]>> = {
  live: ['charts', 'live', 'actor'],
  assistants: ['desk', 'assistants', 'assistant'],
  tools: ['desk', 'tools', 'tool'],
  keys: ['desk', 'keys', 'key'],
  sessions: ['desk', 'sessions', 'session'],
  credentials: ['desk', 'credentials'],
  usage: ['desk', 'usage'],
};

const ofInstallation = ['load', 'workspaces', 'people'];

function named(parts: readonly string[]): { readonly lot: LotName; readonly name: string } | null {
  const [first = '', second, third] = parts;
  if (!first.startsWith('wks_')) return parts.length === 1 && ofInstallation.includes(first) ? { lot: 'desk', name: first } : null;
  const found = ofWorkspace[second ?? ''];
  const name = third === undefined ? found?.[1] : found?.[2];
  return found === undefined || name === undefined ? null : { lot: found[0], name };
}

const loaded = new Map<LotName, Lot>();

const load = (lot: LotName): Promise<void> => lots[lot]().then((module) => void loaded.set(lot, module));

/** Preloads the page of the address while the server is asked who is signed in. A failure is handled when the page is shown. */
export function expectPage(): void {
  const lot = named(segments.peek())?.lot;
  if (lot !== undefined) load(lot).catch(() => {});
}

export function Page() {
  const parts = segments.value;
  const page = named(parts);
  const lot = page?.lot ?? null;
  // As it was when this was drawn: it may be loaded before the effect runs.
  const ready = lot !== null && loaded.has(lot);
  const [, drawn] = useState(0);
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    if (lot === null || ready) return;
    setFailed(false);
    load(lot).then(
      () => drawn((times) => times + 1),
      () => setFailed(true),
    );
  }, [lot]);
  useEffect(() => void (parts.length < 2 && page === null && begin(parts)), [parts.join('/')]);
  if (page === null) return parts.length === 0 || (parts.length === 1 && parts[0]!.startsWith('wks_')) ? <Wait /> : <Nothing />;
  if (failed) return <Updated />;
  const Shown = loaded.get(page.lot)?.[page.name] as FunctionComponent | undefined;
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
    <>
      <Head name="There is no such page" />
      <Empty name="Nothing stands at this address" first={<a class="button" href={home}>To the live charts</a>}>
        It may be wrong, or what it named was deleted.
      </Empty>
    </>
  );
}

/** The files of this page have other names now: the server is another version. */
function Updated() {
  return (
    <>
      <Head name="This page could not be loaded" />
      <Empty name="Its files are not here" first={<button onClick={() => location.reload()}>Reload</button>}>
        The network is lost, or the server has been updated since this page was opened. Reload to go on where you are.
      </Empty>
    </>
  );
}
