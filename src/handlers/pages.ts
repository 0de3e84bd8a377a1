/** `/console` and all below it that is not the console's API: one page, which reads from its address what to show, and its files. */
import { Failure } from '../errors.ts';
import { transportHeaders } from '../own-origins.ts';
import { assetHeaders, pageHeaders, pages } from '../pages.ts';
import type { NobodyCaller, Reply, Request } from '../request.ts';
import { fileReply } from './file.ts';

export function page({ head, services: { config } }: Request<NobodyCaller>): Reply {
  const file = pages().page;
  if (file === undefined) throw new Failure('route_not_found');
  return fileReply(file, head, { ...pageHeaders, ...transportHeaders(head, config) });
}

/** A path that only the page knows gets the page; one of the API, or of a file that this build does not have, is no route. */
export function pageOrFile(request: Request<NobodyCaller>): Reply {
  const path = request.params['path']!;
  const file = pages().files.get(path);
  if (file !== undefined) return fileReply(file, request.head, assetHeaders);
  if (/^(api|assets)(\/|$)/.test(path)) throw new Failure('route_not_found');
  return page(request);
}
