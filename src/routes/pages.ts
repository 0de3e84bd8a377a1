/** The console's pages (contract 9). They are for browsers, and so not in the documents of the API. */
import { page, pageOrFile } from '../handlers/pages.ts';
import type { Route } from '../request.ts';
import { open, text } from './row.ts';

const options = { summary: "The console's page.", success: text('text/html', 'The page.') };

export const pageRoutes: readonly Route[] = [
  open('GET', '/console', page, options),
  open('GET', '/console/', page, options),
  open('GET', '/console/{path*}', pageOrFile, options),
];
