/**
 * `GET /p/{slug}`, `GET /p/{slug}/frame` and `GET /widget.js`: the pages of the public link, and the widget's loader
 * (contract 9).
 */
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { namesHtml, weighted } from './accept.ts';
import { Failure } from '../../base/errors.ts';
import type { RequestHead, ResponseHeaders } from '../../base/edge.ts';
import { conversationPage, policyOf, refusedPage, unknownPage, type Built, type PageKind } from '../link-pages.ts';
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
  // For the server alone; its name has no digest.
  files.delete('built.json');
  known = { files, names: JSON.parse(Buffer.from(written.bytes).toString()) as Built };
  return known;
}

/** The pages requested so far, by language and kind. */
const pages = new Map<string, StaticFile>();

/**
 * Made and compressed at the first request for it: one takes a millisecond or two, all of them together would hold up
 * the turns of others.
 */
function pageOf(language: Language, kind: PageKind): StaticFile {
  const name = `${language} ${kind.voice} ${kind.identityRequired}`;
  let page = pages.get(name);
  if (page === undefined) {
    const text = conversationPage(language, kind, linkBuild().names);
    page = staticFile(type, Buffer.from(text), { br: brotliCompressSync(text), gzip: gzipSync(text) });
    pages.set(name, page);
  }
  return page;
}

const headersFor = (frameAncestors: string | null): ResponseHeaders => ({
  'content-security-policy': policyOf(frameAncestors),
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex',
  'permissions-policy': 'camera=(), geolocation=()',
  vary: 'accept-encoding, accept-language, sec-fetch-dest',
});

interface PageQuery {
  /** A BCP 47 tag. */
  readonly lang?: string;
}

/** Returns the language requested by name, else the first of the browser's list, by its weights (RFC 9110, 12.5.4). */
function languageFor({ head, query: { lang } }: Request<NobodyCaller, PageQuery>): Language {
  const named = lang === undefined ? null : languageOf(lang);
  if (named !== null) return named;
  const wanted = weighted(head.headers('accept-language')).map(([tag, weight]) => ({
    language: languageOf(tag),
    weight,
  }));
  const offered = wanted.filter(
    (one): one is { language: Language; weight: number } => one.language !== null && one.weight > 0,
  );
  return offered.toSorted((one, other) => other.weight - one.weight)[0]?.language ?? languages[0];
}

/** Finds the assistant by its slug among the live ones; the page is one of a few. */
export async function linkPage(request: Request<NobodyCaller, PageQuery>): Promise<Reply> {
  const assistant = await request.services.host.assistants.bySlug(request.params.slug);
  return assistant?.record.channels.link ? conversation(request, assistant.record, "'none'") : unknown(request);
}

type FrameRequest = Request<NobodyCaller, PageQuery & { readonly host?: string }>;

/**
 * The page in a frame of one site. Where the assistant does not list the site it is the same page, which no site may
 * frame; a browser that says that it fills a frame gets words instead, which any site may frame.
 */
export async function framePage(request: FrameRequest): Promise<Reply> {
  const assistant = await request.services.host.assistants.bySlug(request.params.slug);
  if (!assistant?.record.channels.widget)
    return fillsFrame(request.head) ? refusal(request, 'assistant_not_found') : unknown(request);
  const { host = '' } = request.query;
  if (lists(assistant.record.link?.origins ?? [], host))
    return conversation(request, assistant.record, policySource(host));
  return fillsFrame(request.head)
    ? refusal(request, 'assistant_not_permitted')
    : conversation(request, assistant.record, "'none'");
}

const fillsFrame = (head: RequestHead): boolean =>
  /^(?:iframe|frame|embed|object)$/.test(head.headers('sec-fetch-dest')[0] ?? '');

/** Longer names of origins are cut in a hint. */
const hintCharactersMax = 300;

/** Lines for the browser's console, where the site's owner reads them. */
const hints = {
  assistant_not_permitted: (slug: string, host: string) =>
    `parley: "${slug}" is not available at ${host}. List this origin in the assistant's settings: Public link and widget, Sites that may show the widget; or by parley link create --origin.`,
  assistant_not_found: (slug: string) =>
    `parley: no assistant has the widget on under the slug "${slug}". Turn it on in the assistant's settings: Public link and widget; or by parley link create --widget.`,
};

function refusal(request: FrameRequest, code: keyof typeof hints): Reply {
  const host = (request.query.host ?? 'an origin that it does not name').slice(0, hintCharactersMax);
  const page = refusedPage(languageFor(request), code, hints[code](request.params.slug, host), linkBuild().names);
  return htmlReply(code === 'assistant_not_found' ? 404 : 200, page, null);
}

const htmlReply = (status: number, page: string, frameAncestors: string | null): Reply => ({
  status,
  headers: {
    'content-type': type,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headersFor(frameAncestors),
  },
  bytes: Buffer.from(page),
});

function conversation(
  request: Request<NobodyCaller, PageQuery>,
  { channels, link }: Assistant,
  frameAncestors: string,
): Reply {
  const kind = { voice: channels.voice, identityRequired: link?.identityRequired ?? false };
  return fileReply(pageOf(languageFor(request), kind), request.head, headersFor(frameAncestors));
}

/** Scripts and styles of the page. Their names have the digest of their content. */
export function linkFile({ head, params }: Request<NobodyCaller>): Reply {
  const file = linkBuild().files.get(params.file);
  if (file === undefined) throw new Failure('route_not_found');
  return fileReply(file, head, assetHeaders);
}

let loader: StaticFile | undefined;

/** Sites keep the loader for an hour, and may load it under any isolation policy. */
export function widget({ head }: Request<NobodyCaller>): Reply {
  loader ??= readStaticFiles(builtFolder('widget', 'widget.js')).get('widget.js');
  if (loader === undefined) throw new Failure('route_not_found');
  return fileReply(loader, head, {
    'cache-control': 'public, max-age=3600, stale-while-revalidate=86400',
    'cross-origin-resource-policy': 'cross-origin',
  });
}

/** A page for browsers; others get the shape of all failures. */
function unknown(request: Request<NobodyCaller, PageQuery>): Reply {
  const { head } = request;
  if (!namesHtml(head.headers('accept'))) throw new Failure('assistant_not_found');
  return htmlReply(404, unknownPage(languageFor(request), linkBuild().names), "'none'");
}
