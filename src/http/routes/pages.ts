/**
 * The front page, the icon and the console's pages (contract 6 and 9). They are for browsers, and so not in the
 * documents of the API.
 */
import { listAssistantVoices, speakInTrial } from '../console/speech.ts';
import { beginOidc, finishOidc, signInOptions } from '../console/oidc.ts';
import { favicon, front, page, pageOrFile, withoutSlash } from '../handlers/pages.ts';
import type { Route } from '../request.ts';
import { limits } from '../../base/limits.ts';
import * as wire from '../../wire/wire.ts';
import { elsewhere, json, open, operator, text } from './row.ts';

const assistant = '/console/api/workspaces/{w}/assistants/{id}';
const options = { summary: "The console's page.", success: text('text/html', 'The page.') };
const led = (description: string) => ({
  summary: 'Signs a person in by OpenID Connect.',
  success: { status: 302, description, content: null },
});
const slashed = { summary: 'Leads to the page without the slash.', success: elsewhere };

export const pageRoutes: readonly Route[] = [
  open('GET', '/', front, {
    summary: 'A description of the server, for people.',
    success: text('text/html', 'The page.', ['ETag']),
  }),
  open('GET', '/favicon.ico', favicon, { summary: 'The icon.', success: text('image/x-icon', 'The icon.', ['ETag']) }),
  open('GET', '/console', page, options),
  open('GET', '/console/', page, options),
  // For the sign-in page alone.
  open('GET', '/console/api/sign-in', signInOptions, {
    summary: 'Lists the ways to sign in.',
    success: json(wire.SignInOptionsView, 'The ways that this server offers.'),
  }),
  open('GET', '/console/api/oidc', beginOidc, led('Redirects the browser to the issuer.')),
  open('GET', '/console/api/oidc/callback', finishOidc, led('The person is signed in.')),
  open('GET', '/docs/', withoutSlash, slashed),
  open('GET', '/p/{slug}/', withoutSlash, slashed),
  // Trials of the voice, for the assistant's page. The contract's table of the console's API has neither.
  operator('GET', `${assistant}/voices`, 'assistants.read', listAssistantVoices, {
    summary: "Lists the voices of an assistant's provider.",
    query: wire.TrialVoicesQuery,
    success: json(wire.VoiceList, 'A page of voices.'),
  }),
  operator('POST', `${assistant}/speech`, 'assistants.try', speakInTrial, {
    summary: 'Speaks a text with the voice of an assistant, of a draft too.',
    body: wire.TrialSpeechBody,
    tooLong: { text: { name: 'text_too_long', limit: limits.speechCharactersMax } },
    success: { status: 200, description: 'The audio, whole.', content: { type: 'audio/wav', schema: wire.Audio } },
    newWork: true,
  }),
  open('GET', '/console/{path*}', pageOrFile, options),
];
