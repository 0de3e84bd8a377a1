/** The pages that browsers ask for: `/` with the icon; `/console` and all below it that is not the console's API. */
import { Failure, failureText } from '../../base/errors.ts';
import { transportHeaders } from '../../access/own-origins.ts';
import { assetHeaders, pageHeaders, pages } from '../pages.ts';
import { jsonType, type NobodyCaller, type Reply, type Request } from '../request.ts';
import { fileReply } from './file.ts';
import { namesHtml } from './accept.ts';
import { landingPage, landingPolicy } from '../landing-page.ts';
import { readFavicon } from '../../pages/favicon.ts';
import { staticFile, type StaticFile } from '../../base/static-files.ts';

/** The one page, which reads from its address what to show. */
export function page({ head, services: { config } }: Request<NobodyCaller>): Reply {
  const file = pages().page;
  if (file === undefined) throw new Failure('route_not_found');
  return fileReply(file, head, { ...pageHeaders, ...transportHeaders(head, config) });
}

/**
 * A path that only the page knows gets the page; one of the API, or of a file that this build does not have, is no
 * route.
 */
export function pageOrFile(request: Request<NobodyCaller>): Reply {
  const path = request.params.path;
  const file = pages().files.get(path);
  if (file !== undefined) return fileReply(file, request.head, assetHeaders);
  if (/^(api|assets)(\/|$)/.test(path)) throw new Failure('route_not_found');
  return page(request);
}

const landingFile = staticFile('text/html; charset=utf-8', Buffer.from(landingPage));

/**
 * The landing page. A request whose `Accept` names no HTML gets 404 as for any unknown route; no cache gives one client
 * the other's answer.
 */
export function front({ head, requestId }: Request<NobodyCaller>): Reply {
  if (!namesHtml(head.headers('accept'))) {
    return {
      status: 404,
      headers: { 'content-type': jsonType, vary: 'accept' },
      text: failureText(new Failure('route_not_found'), requestId),
    };
  }
  return fileReply(landingFile, head, {
    'content-security-policy': landingPolicy,
    'referrer-policy': 'no-referrer',
    vary: 'accept, accept-encoding',
  });
}

/** Leads a person who typed a slash after the address of a page to the page, with the query. */
export const withoutSlash = ({ head: { path, query } }: Request<NobodyCaller>): Reply => ({
  status: 308,
  headers: { location: `${path.slice(0, -1)}${query === '' ? '' : `?${query}`}` },
  empty: true,
});

let iconFile: StaticFile | undefined;

/** A day is short enough for another one, and long enough that pages do not ask for it again and again. */
export function favicon({ head }: Request<NobodyCaller>): Reply {
  iconFile ??= staticFile('image/x-icon', readFavicon());
  return fileReply(iconFile, head, { 'cache-control': 'public, max-age=86400' });
}
