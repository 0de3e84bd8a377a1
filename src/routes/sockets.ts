/** The paths that become a WebSocket (contract 8 and 9). */
import { Type } from 'typebox';
import { watchActors } from '../console/inspect.ts';
import type { Upgrade } from '../edge.ts';
import { Failure } from '../errors.ts';
import { openTranscription } from '../handlers/voice.ts';
import type { Route, Success } from '../request.ts';
import type { Services } from '../services.ts';
import { open, operator } from './row.ts';

export interface SocketRoute {
  /** Answers the path where no upgrade is asked for. */
  readonly route: Route;
  /** Accepts the upgrade, or throws the `Failure` that answers it. */
  open(upgrade: Upgrade, requestId: string, services: Services): void;
}

const socket: Success = { status: 101, description: 'It is a WebSocket from here on.', content: null };

/** There is nothing but the socket. */
const plain = (): never => {
  throw new Failure('route_not_found');
};

const only = (description: string) => Type.Optional(Type.String({ description }));

export const socketRoutes: readonly SocketRoute[] = [
  {
    route: open('GET', '/transcription', openTranscription, {
      summary: 'Transcribes what is said. No token is minted in this version, so every one is unknown.',
      success: socket,
      errors: ['invalid_token'],
    }),
    open: openTranscription,
  },
  {
    route: operator('GET', '/console/api/inspect', plain, {
      summary: 'Shows live actors, their events and snapshots.',
      query: Type.Object({
        workspace: only('Of this workspace.'),
        kind: only('Of this kind: workspace, key, assistant or session.'),
        id: only('The actor with this id.'),
      }),
      success: socket,
      errors: ['route_not_found'],
      newWork: true,
    }),
    open: watchActors,
  },
];
