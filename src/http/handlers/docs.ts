/** `GET /docs`: the reference as a page, made of the OpenAPI document at the first request. */
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { docsPage, docsPolicy } from '../reference/docs.ts';
import type { NobodyCaller, Reply, Request } from '../request.ts';
import { staticFile, type StaticFile } from '../../base/static-files.ts';
import { fileReply } from './file.ts';

/** The page of each document. */
const pages = new WeakMap<StaticFile, StaticFile>();

/** The page brings its policy, and sends no referrer to other sites. */
const headers = { 'content-security-policy': docsPolicy, 'referrer-policy': 'no-referrer' };

export function docs({ head, services }: Request<NobodyCaller>): Reply {
  const document = services.openapi();
  let page = pages.get(document);
  if (page === undefined) pages.set(document, (page = pageOf(document)));
  return fileReply(page, head, headers);
}

function pageOf({ bytes }: StaticFile): StaticFile {
  const page = Buffer.from(docsPage(Buffer.from(bytes).toString()));
  // The best quality would hold up other requests half a second.
  const br = brotliCompressSync(page, {
    params: { [constants.BROTLI_PARAM_QUALITY]: 6, [constants.BROTLI_PARAM_SIZE_HINT]: page.length },
  });
  return staticFile('text/html; charset=utf-8', page, { br, gzip: gzipSync(page) });
}
