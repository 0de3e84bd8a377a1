/** The results of a replay: stored conversations beside what the chosen settings reply, the differences first. */
import { useState } from 'preact/hooks';
import { count, plural } from '../format.ts';
import { inWorkspace } from '../route.ts';
import type { ReplayResult } from '../types.ts';
import { State } from './head.tsx';
import { differencesFirst, hasOtherReplies, isDifferent, lengthWords } from './test-state.ts';
import { Words } from './test-results.tsx';
import { Pair } from './version-changes.tsx';

interface Options {
  readonly of: readonly ReplayResult[];
  /** The name of what was played, as in "Draft". */
  readonly played: string;
  /** Whether all conversations are there: then the first that differ are open. */
  readonly isEnded: boolean;
}

/** Conversations that are open at first. */
const openAtFirst = 3;

export function ReplayResults({ of, played, isEnded }: Options) {
  return (
    <>
      <p role="status">{countWords(of)}</p>
      <div class="results">
        {differencesFirst(of).map((result, index) => (
          <Conversation
            key={result.session_id}
            of={result}
            played={played}
            isOpenAtFirst={isEnded && index < openAtFirst && isDifferent(result)}
          />
        ))}
      </div>
    </>
  );
}

function countWords(of: readonly ReplayResult[]): string {
  const number = (is: (one: ReplayResult) => boolean) => count(of.filter(is).length);
  return `${plural(of.length, 'conversation')}: ${number(hasOtherReplies)} with other replies, ${number(
    ({ calls }) => calls === 'different',
  )} with other calls, ${number(({ ended }) => ended === 'different')} whose turns end differently.`;
}

interface ConversationOptions {
  readonly of: ReplayResult;
  readonly played: string;
  readonly isOpenAtFirst: boolean;
}

/** One conversation. Its texts are compared once it is open. */
function Conversation({ of, played, isOpenAtFirst }: ConversationOptions) {
  const [choice, setChoice] = useState<boolean | null>(null);
  const isOpen = choice ?? isOpenAtFirst;
  const toggle = (event: Event) => {
    event.preventDefault();
    setChoice(!isOpen);
  };
  const first = of.messages[0]?.message ?? 'No message';
  return (
    <details class="result" open={isOpen} aria-label={first.slice(0, 80)}>
      <summary onClick={toggle}>
        <strong class="first-words">{first}</strong>
        {of.calls === 'different' && <State name="other calls" tone="red" />}
        {of.ended === 'different' && <State name="ends differently" tone="red" />}
        {hasOtherReplies(of) ? <State name="other replies" tone="lit" /> : <State name="same replies" />}
        <span class="note">{lengthWords(of)}</span>
      </summary>
      {isOpen && (
        <div class="stack-wide">
          <p>
            <a href={inWorkspace('sessions', of.session_id)}>The stored conversation</a>
          </p>
          <div class="sides" aria-hidden="true">
            <span>As it was</span>
            <span>{played}</span>
          </div>
          {of.messages.map(({ message, stored, reply }, index) => (
            <div class="exchange" key={index}>
              <Words name="Visitor" kind="user">
                {message}
              </Words>
              <Pair
                label={`Replies to message ${index + 1}`}
                isLabelHidden
                before={stored || null}
                after={reply || null}
                sides={['As it was', played]}
              />
            </div>
          ))}
        </div>
      )}
    </details>
  );
}
