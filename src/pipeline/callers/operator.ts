/** The operator of the installation: recognised by the operator token, not charged (contract 9). */
import { Failure } from '../../errors.ts';
import { sameSecret } from '../../keys.ts';
import type { OperatorCaller } from '../../request.ts';
import type { CallerKind } from './kind.ts';
import { bearer } from './bearer.ts';

export const byOperatorToken: CallerKind<OperatorCaller> = {
  recognise(head, _params, { operatorToken }) {
    const token = bearer(head);
    if (token === null) throw new Failure('missing_api_key');
    if (!sameSecret(token, operatorToken)) throw new Failure('invalid_api_key');
    return { kind: 'operator' };
  },
  charge: () => null,
};
