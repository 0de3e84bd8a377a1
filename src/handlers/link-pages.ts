/** `GET /p/{slug}`, `GET /p/{slug}/frame` and `GET /widget.js`: the pages of the public link, and the widget's loader (contract 9). */
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { Failure } from '../errors.ts';
import type { RequestHead, ResponseHeaders } from '../edge.ts';
import { conversationPage, languageFor, policyOf, unknownPage, type Built } from '../link/pages.ts';
import { languages, type Language } from '../link/words.ts';
import { lists } from '../origin.ts';
import { assetHeaders, builtFolder } from '../pages.ts';
import type { NobodyCaller, Reply, Request } from '../request.ts';
import { readStaticFiles, staticFile, type StaticFile } from '../static-files.ts';
import type { Assistant } from '../store.ts';
import { fileReply } from './file.ts';

const type = 'text/html; charset=utf-8';

interface LinkPages {
  readonly files: ReadonlyMap<string, StaticFile>;
  /** By language: without voice, with it, and of an unknown address. */
  readonly pages: Readonly<Record<Language, { readonly silent: StaticFile; readonly voiced: StaticFile; readonly unknown: StaticFile }>>;
}

let known: LinkPages | null = null;

/** Made once, at the first request for one. Throws where no page was built. */
function linkPages(): LinkPages {
  if (known !== null) return known;
  const files = new Map(readStaticFiles(builtFolder('link', 'built.json')));
  const written = files.get('built.json');
  if (written === undefined) throw new Failure('route_not_found');
  // It is for this server alone, and its name has no digest.
  files.delete('built.json');
  const built = JSON.parse(Buffer.from(written.bytes).toString()) as Built;
  const page = (text: string): StaticFile => staticFile(type, Buffer.from(text), { br: brotliCompressSync(text), gzip: gzipSync(text) });
  const of = (language: Language) => ({ silent: page(conversationPage(language, false, built)), voiced: page(conversationPage(language, true, built)), unknown: page(unknownPage(language, built)) });
  known = { files, pages: Object.fromEntries(languages.map((language) => [language, of(language)])) as LinkPages['pages'] };
  return known;
}

const headersFor = (frameAncestors: string): ResponseHeaders => ({
  'content-security-policy': policyOf(frameAncestors),
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex',
  'permissions-policy': 'camera=(), geolocation=()',
  vary: 'accept-encoding, accept-language',
});

interface PageQuery {
  /** A BCP 47 tag. */
  readonly lang?: string;
}

const pagesFor = ({ head, query }: Request<NobodyCaller, PageQuery>): LinkPages['pages'][Language] => linkPages().pages[languageFor(query.lang, head.headers('accept-language'))];

/** The assistant is found by its slug among those that are awake; the page is one of a few, and none is made for a request. */
export async function linkPage(request: Request<NobodyCaller, PageQuery>): Promise<Reply> {
  const assistant = await request.services.host.assistants.bySlug(request.params['slug']!);
  return assistant?.record.channels.link ? conversation(request, assistant.record, "'none'") : unknown(request);
}

/** The page in a frame of one site. Where the assistant does not list the site it is the same page, which no site may frame. */
export async function framePage(request: Request<NobodyCaller, PageQuery & { readonly host?: string }>): Promise<Reply> {
  const assistant = await request.services.host.assistants.bySlug(request.params['slug']!);
  return assistant?.record.channels.widget ? conversation(request, assistant.record, ancestorOf(assistant.record, request.query.host)) : unknown(request);
}

const ancestorOf = ({ link }: Assistant, host = ''): string => (lists(link?.origins ?? [], host) ? new URL(host).origin : "'none'");

function conversation(request: Request<NobodyCaller, PageQuery>, { channels }: Assistant, frameAncestors: string): Reply {
  const { silent, voiced } = pagesFor(request);
  return fileReply(channels.voice ? voiced : silent, request.head, headersFor(frameAncestors));
}

/** Scripts and styles of the page. Their names have the digest of their content. */
export function linkFile({ head, params }: Request<NobodyCaller>): Reply {
  const file = linkPages().files.get(params['file']!);
  if (file === undefined) throw new Failure('route_not_found');
  return fileReply(file, head, assetHeaders);
}

let loader: StaticFile | undefined;

/** Sites keep the loader for an hour; it is theirs to load, whatever their own isolation. */
export function widget({ head }: Request<NobodyCaller>): Reply {
  loader ??= readStaticFiles(builtFolder('widget', 'widget.js')).get('widget.js');
  if (loader === undefined) throw new Failure('route_not_found');
  return fileReply(loader, head, { 'cache-control': 'public, max-age=3600, stale-while-revalidate=86400', 'cross-origin-resource-policy': 'cross-origin' });
}

/** A page for browsers; others get the shape of all failures. */
function unknown(request: Request<NobodyCaller, PageQuery>): Reply {
  const { head } = request;
  if (!wantsPage(head)) throw new Failure('assistant_not_found');
  const headers = { 'content-type': type, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...headersFor("'none'") };
  return { status: 404, headers, bytes: pagesFor(request).unknown.bytes };
}

const wantsPage = (head: RequestHead): boolean => head.headers('accept').some((line) => line.includes('text/html'));
