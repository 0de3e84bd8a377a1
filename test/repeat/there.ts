/** Everything that a client can send, as the table of routes and the shapes on the wire have it. */
import { answeredRoutes } from '../../src/http/routes.ts';
import * as wire from '../../src/wire/wire.ts';

/** All that must have a row, as the table of routes has it. */
export const routesThere = (): string[] =>
  answeredRoutes({ managementPort: null })
    .filter(({ open }) => open === undefined)
    .map(({ method, path }) => `${method} ${path}`);

interface Shape {
  readonly properties?: { readonly type?: { readonly const?: string } };
}

/**
 * The shapes of a client's messages on the transcription socket. The console's socket has no shapes: it ignores unknown
 * messages.
 */
const commands = Object.entries(wire).flatMap(([name, shape]) =>
  name.endsWith('Message') ? ((shape as Shape).properties?.type?.const ?? []) : [],
);

/** All that must have a row beside the routes. */
export const messagesThere = (): string[] => [
  ...[...commands, 'audio', 'ping'].map((name) => `transcription ${name}`),
  ...['watch', 'unwatch', 'sync', 'ping'].map((name) => `inspect ${name}`),
  ...[...Object.keys(wire.CallMessages), 'audio'].map((name) => `call ${name}`),
  'GET /transcription',
  ...[...Object.keys(wire.RealtimeEvents), 'unknown event'].map((name) => `realtime ${name}`),
  'GET /call',
  'GET /v1/realtime',
  'GET /console/api/inspect',
];
