/** The callers of routes (contract 4 and 9). */
import type { Caller, NobodyCaller } from '../request.ts';
import { byKey } from './callers/key.ts';
import type { CallerKind } from './callers/kind.ts';
import { byOperator } from './callers/operator.ts';
import { byLink, byLinkAnew, byVisitorToken, chargeRead } from './callers/visitor.ts';
import { byCallToken, byTranscriptionToken } from './callers/token.ts';

/** The pages of a public link are read by anyone. */
const anyone: CallerKind<NobodyCaller> = { recognise: () => ({ kind: 'anyone' }), charge: chargeRead };

/**
 * The kinds of callers, by name. The cast is safe because each kind gets only callers that its own `recognise` has
 * returned.
 */
export const callers = {
  key: byKey,
  operator: byOperator,
  token: byTranscriptionToken,
  call: byCallToken,
  guest: byLink,
  newcomer: byLinkAnew,
  visitor: byVisitorToken,
  anyone,
} as Readonly<Record<Caller['kind'], CallerKind>>;
