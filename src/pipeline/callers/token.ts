/** A transcription token, valid for one socket (contract 8). This version has no voice provider, so no token is issued and none is valid. */
import { Failure } from '../../errors.ts';
import type { TokenCaller } from '../../request.ts';
import type { CallerKind } from './kind.ts';

export const byTranscriptionToken: CallerKind<TokenCaller> = {
  recognise() {
    throw new Failure('invalid_token');
  },
  charge: () => null,
};
