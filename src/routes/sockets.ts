/** The paths that become a WebSocket (contract 8 and 9). */
import { watchActors } from '../console/inspect.ts';
import type { Upgrade } from '../edge.ts';
import type { ErrorName } from '../errors.ts';
import { openTranscription } from '../handlers/voice.ts';
import type { Caller } from '../request.ts';
import type { Services } from '../services.ts';

export interface SocketRoute {
  readonly path: string;
  readonly summary: string;
  readonly caller: Caller['kind'];
  /** What it may refuse with, beyond what every upgrade is refused with. */
  readonly errors: readonly ErrorName[];
  /** Accepts the upgrade, or throws the `Failure` that answers it. */
  open(upgrade: Upgrade, requestId: string, services: Services): void;
}

export const socketRoutes: readonly SocketRoute[] = [
  {
    path: '/transcription',
    summary: 'Transcribes what is said, with `?token=`. No token is minted in this version, so every one is unknown.',
    caller: 'anyone',
    errors: ['invalid_token'],
    open: openTranscription,
  },
  {
    path: '/console/api/inspect',
    summary: 'Live actors, their events and snapshots; `?workspace=`, `?kind=` and `?id=` narrow them down.',
    caller: 'operator',
    errors: [],
    open: watchActors,
  },
];
