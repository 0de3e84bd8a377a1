/** The steps of a call's replies, live: each reply is an actor whose id begins with the call's. */
import { useEffect, useState } from 'preact/hooks';
import { watch } from '../feed.ts';
import { apiWorkspace } from '../route.ts';
import { stepOfEvent, type Step } from './steps.ts';

/** Steps that are kept. */
const stepsMax = 500;

/** Returns the steps since the page was opened, oldest first. */
export function useReplies(call: string): readonly Step[] {
  const [steps, setSteps] = useState<readonly Step[]>([]);
  useEffect(() => {
    setSteps([]);
    return watch({ workspace: apiWorkspace().split('/')[2], kind: 'reply' }, (messages) => {
      const added = messages.flatMap((message) =>
        message.type === 'event' && message.actor.id.startsWith(`${call}.`)
          ? [{ ...stepOfEvent(message), id: `${message.actor.id} ${message.seq}` }]
          : [],
      );
      if (added.length > 0) setSteps((before) => [...before, ...added].slice(-stepsMax));
    });
  }, [call]);
  return steps;
}
