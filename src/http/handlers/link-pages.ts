/** `GET /p/{slug}`, `GET /p/{slug}/frame` and `GET /widget.js`: the pages of the public link, and the widget's loader (contract 9). */
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { namesHtml, weighted } from '../../base/accept.ts';
import { Failure } from '../../base/errors.ts';
import type { ResponseHeaders } from '../../base/edge.ts';
import { conversationPage, policyOf, unknownPage, type Built } from '../link-pages.ts';
import { languageOf, languages, type Language } from '../../pages/words.ts';
import { lists, policySource } from '../../base/origin.ts';
import { assetHeaders, builtFolder } from '../pages.ts';
import type { NobodyCaller, Reply, Request } from '../request.ts';
import { readStaticFiles, staticFile, type StaticFile } from '../../base/static-files.ts';
import type { Assistant } from '../../store/store.ts';
import { fileReply } from './file.ts';

const type = 'text/html; charset=utf-8';

interface LinkBuild {
  readonly files: ReadonlyMap<string, StaticFile>;
  /** The names of the files that the pages refer to. */
  readonly names: Built;
}

let known: LinkBuild | null = null;

/** Read once, at the first request for one. Throws where no page was built. */
function linkBuild(): LinkBuild {
  if (known !== null) return known;
  const files = new Map(readStaticFiles(builtFolder('link', 'built.json')));
  const written = files.get('built.json');
  if (written === undefined) throw new Failure('route_not_found');
  // It is for this server alone, and its name has no digest.
  files.delete('built.json');
  known = { files, names: JSON.parse(Buffer.from(written.bytes).toString()) as Built };
  return known;
}

/** The pages requested so far, with and without voice, by language. */
const pages: Readonly<Record<'silent' | 'voiced', Map<Language, StaticFile>>> = { silent: new Map(), voiced: new Map() };

/** Made and compressed at the first request for it: one takes a millisecond or two, all of them together would hold up the turns of others. */
function pageOf(language: Language, voice: 'silent' | 'voiced'): StaticFile {
  let page = pages[voice].get(language);
  if (page === undefined) {
    const text = conversationPage(language, voice === 'voiced', linkBuild().names);
    pages[voice].set(language, (page = staticFile(type, Buffer.from(text), { br: brotliCompressSync(text), gzip: gzipSync(text) })));
  }
  return page;
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

/** Returns the language requested by name, else the first of the browser's list, by its weights (RFC 9110, 12.5.4). */
function languageFor({ head, query: { lang } }: Request<NobodyCaller, PageQuery>): Language {
  const named = lang === undefined ? null : languageOf(lang);
  if (named !== null) return named;
  const wanted = weighted(head.headers('accept-language')).map(([tag, weight]) => ({ language: languageOf(tag), weight }));
  const offered = wanted.filter((one): one is { language: Language; weight: number } => one.language !== null && one.weight > 0);
  return offered.toSorted((one, other) => other.weight - one.weight)[0]?.language ?? languages[0];
}

/** Finds the assistant by its slug among the live ones; the page is one of a few. */
export async function linkPage(request: Request<NobodyCaller, PageQuery>): Promise<Reply> {
  const assistant = await request.services.host.assistants.bySlug(request.params['slug']!);
  return assistant?.record.channels.link ? conversation(request, assistant.record, "'none'") : unknown(request);
}

/** The page in a frame of one site. Where the assistant does not list the site it is the same page, which no site may frame. */
export async function framePage(request: Request<NobodyCaller, PageQuery & { readonly host?: string }>): Promise<Reply> {
  const assistant = await request.services.host.assistants.bySlug(request.params['slug']!);
  return assistant?.record.channels.widget ? conversation(request, assistant.record, ancestorOf(assistant.record, request.query.host)) : unknown(request);
}

const ancestorOf = ({ link }: Assistant, host = ''): string => (lists(link?.origins ?? [], host) ? policySource(host) : "'none'");

function conversation(request: Request<NobodyCaller, PageQuery>, { channels }: Assistant, frameAncestors: string): Reply {
  return fileReply(pageOf(languageFor(request), channels.voice ? 'voiced' : 'silent'), request.head, headersFor(frameAncestors));
}

/** Scripts and styles of the page. Their names have the digest of their content. */
export function linkFile({ head, params }: Request<NobodyCaller>): Reply {
  const file = linkBuild().files.get(params['file']!);
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
  if (!namesHtml(head.headers('accept'))) throw new Failure('assistant_not_found');
  const headers = { 'content-type': type, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff', ...headersFor("'none'") };
  return { status: 404, headers, bytes: Buffer.from(unknownPage(languageFor(request), linkBuild().names)) };
}
