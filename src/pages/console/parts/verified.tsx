/**
 * The mark of a visitor whom the site has signed in (contract 23). It stands at the visitor's id: of a name nobody knows
 * whether the site has signed it or the visitor has typed it.
 */
import { Id } from './copy.tsx';
import { State } from './head.tsx';

export const Verified = ({ is = true }: { is?: boolean }) =>
  is ? <State name="verified" tone="good" /> : <State name="not verified" />;

/** A fact about a session; none where its visitor is not verified. */
export const verifiedFact = (
  visitorId: string | null | undefined,
): readonly (readonly [string, preact.JSX.Element])[] =>
  visitorId == null
    ? []
    : [
        [
          'Visitor',
          <span class="verified">
            <Id id={visitorId} /> <Verified />
          </span>,
        ],
      ];
