/** A call on a trial: its bar stands in place of the text field, until one types. */
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { CallEvent } from '../../../client/call.ts';
import { now } from '../clock.ts';

export interface TrialCall {
  readonly running: boolean;
  /** Whether one types meanwhile. */
  readonly typing: boolean;
  start(): void;
  /** Says a typed text in the call. */
  message(text: string): void;
  /** The place of the bar, and what went wrong. */
  readonly bar: VNode;
}

/** The name of the module of calls, which stands apart: the build puts it here. */
declare const callModule: string;

/** The address of the worklet of microphone and loudspeaker. */
const { voice: worklet = '' } = document.documentElement.dataset;

/** Runs a call on the trial. `token` opens the trial if there is no session yet; `heard` receives each event. */
export function useTrialCall(token: () => Promise<string>, heard: (event: CallEvent) => void): TrialCall {
  const place = useRef<HTMLDivElement>(null);
  const send = useRef<(text: string) => void>(() => {});
  const [running, setRunning] = useState<AbortController | null>(null);
  const [typing, setTyping] = useState(false);
  const [fault, setFault] = useState('');
  const [said, setSaid] = useState('');
  useEffect(() => () => running?.abort(), [running]);
  const start = async () => {
    // Browsers let a page sound that was clicked just now.
    const context = new AudioContext({ sampleRate: 24_000 });
    const ending = new AbortController();
    setRunning(ending);
    setTyping(false);
    setFault('');
    try {
      const { callOnPage, callWords } = (await import(callModule)) as typeof import('./calls.ts');
      await callOnPage({
        words: callWords.en,
        context,
        worklet,
        now,
        token: async () => ({ url: await token() }),
        ending: ending.signal,
        show: (bar) => place.current!.append(bar),
        type: setTyping,
        say: setSaid,
        event: heard,
        opened: (message) => (send.current = message),
      });
    } catch (error) {
      if (!ending.signal.aborted) setFault((error as Error).message);
    }
    setRunning(null);
  };
  const bar = (
    <>
      <div ref={place} />
      <p class="visually-hidden" role="log">
        {running !== null && said}
      </p>
      {fault !== '' && (
        <p class="note" role="status">
          {fault}
        </p>
      )}
    </>
  );
  return { running: running !== null, typing, start: () => void start(), message: (text) => send.current(text), bar };
}
