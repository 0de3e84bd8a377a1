/** Maps an address to its page. Pages come in two bundles, each loaded when one of its pages is first shown. */
import { Component, type ComponentChildren, type FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { mayRead } from './may.ts';
import { Empty } from './parts/empty.tsx';
import { Head } from './parts/head.tsx';
import { Lost, NotPermitted } from './parts/missing.tsx';
import { Wait } from './parts/wait.tsx';
import { go, isMalformed, pathOf, search, segments } from './route.ts';
import { firstWorkspace, readWorkspaces, workspaces } from './workspaces.ts';

type Lot = Readonly<Record<string, FunctionComponent<never>>>;

const lots = {
  forms: (): Promise<Lot> => import('./pages/forms.ts'),
  charts: (): Promise<Lot> => import('./pages/charts.ts'),
};
type LotName = keyof typeof lots;

/** Path and name of the list, and the name of one item, by the first part of the path in a workspace. */
const ofWorkspace: Readonly<Record<string, readonly [lot: LotName, list: string, one?: string]>> = {
  live: ['charts', 'live', 'actor'],
  assistants: ['forms', 'assistants', 'assistant'],
  tools: ['forms', 'tools', 'tool'],
  keys: ['forms', 'keys', 'key'],
  webhooks: ['forms', 'webhooks', 'webhook'],
  sessions: ['forms', 'sessions', 'session'],
  credentials: ['forms', 'credentials'],
  desk: ['forms', 'desk'],
  usage: ['forms', 'usage'],
};

interface Below {
  /** The page of the list; null without one. */
  readonly list: string | null;
  readonly one: string;
  /** The form of what names one of it. */
  readonly named: RegExp;
}

/** The pages below one item, by the name of their list. */
const below: Readonly<Record<string, Readonly<Record<string, Below>>>> = {
  assistants: {
    versions: { list: 'versions', one: 'version', named: /^[1-9]\d{0,8}$/ },
    tests: { list: 'tests', one: 'test', named: /^(new|tst_\w+)$/ },
    'test-runs': { list: null, one: 'testRun', named: /^run_\w+$/ },
  },
};

const ofInstallation = ['load', 'workspaces', 'people', 'audit'];

/** Accepts an id for a path of the API: dots and slashes are separators there. */
const isId = (text: string): boolean => /^[A-Za-z0-9_-]{1,80}$/.test(text);

function named(parts: readonly string[]): { readonly lot: LotName; readonly name: string } | null {
  const [first = '', second = '', third] = parts;
  if (!first.startsWith('wks_'))
    return parts.length === 1 && ofInstallation.includes(first) ? { lot: 'forms', name: first } : null;
  if (parts.length > 3 && Object.hasOwn(below, second)) return namedBelow(parts);
  const found = Object.hasOwn(ofWorkspace, second) ? ofWorkspace[second] : undefined;
  const name = third === undefined ? found?.[1] : found?.[2];
  // An actor has its kind before its id.
  const isLong = parts.length > (second === 'live' ? 4 : 3);
  return found === undefined || name === undefined || isLong || !parts.every(isId) ? null : { lot: found[0], name };
}

function namedBelow(parts: readonly string[]): { readonly lot: LotName; readonly name: string } | null {
  const [, kind, , list = '', one] = parts;
  const found = Object.hasOwn(below[kind!]!, list) ? below[kind!]![list] : undefined;
  if (found === undefined || parts.length > 5 || !parts.every(isId)) return null;
  const name = one === undefined ? found.list : found.named.test(one) ? found.one : null;
  return name === null ? null : { lot: 'forms', name };
}

const id = /^[A-Za-z0-9_-]{1,80}$/;
const second = /^\d{1,10}$/;

/** The fields of an address that its page reads, and their forms. */
const queries: Readonly<Record<string, Readonly<Record<string, RegExp>>>> = {
  sessions: {
    status: /^(open|ended|expired)$/,
    channel: /^(api|link|widget|console|test)$/,
    assistant_id: id,
    key_id: id,
    from: second,
    to: second,
  },
  assistant: { section: /^(general|model|tools|voice|pre-chat|link|widget|desk|try)$/ },
  version: { from: /^(draft|[1-9]\d{0,8})$/ },
  actor: { at: /^\d{1,9}(r\d{1,6})?$/, session: id },
  audit: { workspace: id, order: /^(asc|desc)$/ },
  usage: { days: /^(1|7|30|90)$/, bucket: /^(day|hour)$/, assistant_id: id, key_id: id },
};

/** The field of the address that cannot be read; undefined if all can. */
const unreadField = (page: string, fields: URLSearchParams): string | undefined =>
  Object.entries(queries[page] ?? {}).find(
    ([name, form]) => (fields.get(name) ?? '') !== '' && !form.test(fields.get(name)!),
  )?.[0];

const loaded = new Map<LotName, Lot>();

const load = (lot: LotName): Promise<void> => lots[lot]().then((module) => void loaded.set(lot, module));

/**
 * Preloads the page of the address while the server is asked who is signed in. A failure is handled when the page is
 * shown.
 */
export function expectPage(): void {
  const lot = named(segments.peek())?.lot;
  if (lot !== undefined) load(lot).catch(() => {});
}

export function Page() {
  const parts = segments.value;
  const [first = '', second = ''] = parts;
  const workspaceId = first.startsWith('wks_') ? first : null;
  const page = named(parts);
  const lot = page?.lot ?? null;
  // The value at the time of drawing: the list may be loaded before the effect runs.
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
  const isBare =
    !isMalformed.value && (parts.length === 0 || (parts.length === 1 && workspaceId !== null && isId(workspaceId)));
  useEffect(() => void (isBare && begin(parts)), [isBare, parts.join('/')]);
  if (page === null) return isBare ? <Wait /> : <Nothing />;
  const field = unreadField(page.name, search.value);
  if (field !== undefined)
    return (
      <Lost name="There is no such page" to={[location.pathname, 'Without what the address asks for']}>
        The field {field} of the address cannot be read.
      </Lost>
    );
  if (failed) return <Updated />;
  const Shown = loaded.get(page.lot)?.[page.name] as FunctionComponent | undefined;
  if (Shown === undefined) return <Wait />;
  const place = parts.slice(0, 5).join('/');
  return (
    <Guard key={place}>
      <OfWorkspace id={workspaceId}>
        {mayRead(workspaceId === null ? first : second) ? <Shown /> : <NotPermitted />}
      </OfWorkspace>
    </Guard>
  );
}

/** A page that throws is a page that says so. */
class Guard extends Component<{ readonly children: ComponentChildren }, { readonly failed: boolean }> {
  override state = { failed: false };

  override componentDidCatch(error: unknown): void {
    this.setState({ failed: true });
    reportError(error);
  }

  override render() {
    if (!this.state.failed) return this.props.children;
    return (
      <>
        <Head name="This page has failed" />
        <Empty name="It could not be drawn" first={<button onClick={() => location.reload()}>Reload</button>}>
          That is a defect of the console. The browser’s console has its cause.
        </Empty>
      </>
    );
  }
}

/** A page of a workspace, if that is there. It may have been made since the workspaces were read. */
function OfWorkspace({ id, children }: { id: string | null; children: ComponentChildren }) {
  const isKnown = id === null || (workspaces.value?.some((one) => one.id === id) ?? true);
  const [looked, setLooked] = useState(false);
  useEffect(() => void (!isKnown && !looked && readWorkspaces().then(() => setLooked(true))), [isKnown]);
  if (isKnown) return <>{children}</>;
  return looked ? (
    <Lost name="There is no such workspace" to={[pathOf('workspaces'), 'To the workspaces']}>
      The address may be wrong, or the workspace was deleted.
    </Lost>
  ) : (
    <Wait />
  );
}

/** `/console` leads to the first workspace, and a workspace to its live charts. */
async function begin([first]: readonly string[]): Promise<void> {
  if (first?.startsWith('wks_')) return go(pathOf(first, 'live'), { replace: true });
  if (first !== undefined) return;
  const id = await firstWorkspace();
  go(id === null ? pathOf('workspaces') : pathOf(id, 'live'), { replace: true });
}

const Nothing = () => <Lost name="There is no such page">It may be wrong, or what it named was deleted.</Lost>;

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
