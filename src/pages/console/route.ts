/**
 * The page's address: the view that it names, and how it changes. Every view can be linked to, and Back leads to the
 * view before.
 */
import { computed, signal } from '@preact/signals';
import { leavePage } from './arrival.ts';

const root = '/console';

const read = (): URL => new URL(location.href);
export const address = signal(read());

addEventListener('popstate', () => move(read()));

/** The path below `/console`, by its segments; null where they cannot be decoded. */
const decoded = computed(() => {
  const parts = address.value.pathname
    .slice(root.length)
    .split('/')
    .filter((part) => part !== '')
    .map(decodedText);
  return parts.some((part) => part === null) ? null : (parts as readonly string[]);
});

/** Whether the path cannot be read. It then has no segments. */
export const isMalformed = computed(() => decoded.value === null);

export const segments = computed(() => decoded.value ?? []);
export const search = computed(() => address.value.searchParams);

/** A text of an address without its escapes; null where these are malformed. */
export function decodedText(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

/** The workspace that the address names; null on the pages of the installation. */
export const workspaceId = computed(() => (segments.value[0]?.startsWith('wks_') ? segments.value[0] : null));

export function go(path: string, { replace = false }: { replace?: boolean } = {}): void {
  if (replace) history.replaceState(null, '', path);
  else {
    history.pushState(null, '', path);
    scrollTo(0, 0);
  }
  move(read());
}

/** Shows the view of an address. On another page the focus goes to its heading. */
function move(url: URL): void {
  if (url.pathname !== address.peek().pathname) leavePage();
  address.value = url;
}

/** Changes the query alone: null takes a field away. */
export function setQuery(fields: Readonly<Record<string, string | null>>, options = { replace: true }): void {
  const url = read();
  for (const [name, value] of Object.entries(fields)) {
    if (value === null || value === '') url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  if (url.href === location.href) return;
  if (options.replace) history.replaceState(null, '', url);
  else history.pushState(null, '', url);
  address.value = url;
}

/** The address of a page of the installation. */
export const pathOf = (...parts: readonly string[]): string => [root, ...parts.map(encodeURIComponent)].join('/');

/** The address of a page of the workspace that is shown. */
export const inWorkspace = (...parts: readonly string[]): string => pathOf(workspaceId.value ?? '', ...parts);

/** The chart of a turn; it names the session, where that is known. */
export const turnChart = (turn: string, session: string | null): string =>
  inWorkspace('live', 'turn', turn) + (session === null ? '' : `?session=${encodeURIComponent(session)}`);

/** The chart of a call; its page leads back to the session that the address names. */
export const callChart = (call: string, session: string): string =>
  `${inWorkspace('live', 'call', call)}?session=${encodeURIComponent(session)}`;

/** Below `/console/api`, the workspace that is shown. */
export const apiWorkspace = (): string => `/workspaces/${workspaceId.value ?? ''}`;

/** Links within the console change the page without loading it again. */
export function followLinks(): void {
  document.addEventListener('click', (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const link = (event.target as Element).closest<HTMLAnchorElement>('a[href]');
    if (link === null || link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return;
    if (!link.pathname.startsWith(root) || link.pathname.startsWith(`${root}/api/`)) return;
    event.preventDefault();
    if (link.href !== location.href) go(link.href);
  });
}
