/** `GET /p/{slug}`, `GET /p/{slug}/frame` and `GET /widget.js`: the pages of the public link, and the widget's loader (contract 9). */
import { Failure } from '../errors.ts';
import type { RequestHead } from '../edge.ts';
import { conversationPage, policyOf, unknownPage } from '../link/pages.ts';
import { lists } from '../origin.ts';
import type { NobodyCaller, Reply, Request } from '../request.ts';
import { staticFile } from '../static-files.ts';
import type { Assistant } from '../store.ts';
import { widgetLoader } from '../widget.ts';
import { fileReply } from './file.ts';

const type = 'text/html; charset=utf-8';
const page = staticFile(type, Buffer.from(conversationPage));

const headersFor = (frameAncestors: string) => ({
  'content-security-policy': policyOf(frameAncestors),
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex',
  'permissions-policy': 'camera=(), geolocation=()',
});

export async function linkPage({ head, params, services }: Request<NobodyCaller>): Promise<Reply> {
  const assistant = await services.host.assistants.bySlug(params['slug']!);
  return assistant?.record.channels.link ? fileReply(page, head, headersFor("'none'")) : unknown(head);
}

/** The page in a frame of one site. Where the assistant does not list the site it is the same page, which no site may frame. */
export async function framePage({ head, params, query, services }: Request<NobodyCaller, { host?: string }>): Promise<Reply> {
  const assistant = await services.host.assistants.bySlug(params['slug']!);
  return assistant?.record.channels.widget ? fileReply(page, head, headersFor(ancestorOf(assistant.record, query.host))) : unknown(head);
}

const ancestorOf = ({ link }: Assistant, host = ''): string => (lists(link?.origins ?? [], host) ? new URL(host).origin : "'none'");

/** Sites keep the loader for an hour; it is theirs to load, whatever their own isolation. */
export function widget({ head }: Request<NobodyCaller>): Reply {
  const file = widgetLoader();
  if (file === undefined) throw new Failure('route_not_found');
  return fileReply(file, head, { 'cache-control': 'public, max-age=3600, stale-while-revalidate=86400', 'cross-origin-resource-policy': 'cross-origin' });
}

/** A page for browsers; others get the shape of all failures. */
function unknown(head: RequestHead): Reply {
  if (!head.headers('accept').some((line) => line.includes('text/html'))) throw new Failure('assistant_not_found');
  return { status: 404, headers: { 'content-type': type, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...headersFor("'none'") }, bytes: Buffer.from(unknownPage) };
}
