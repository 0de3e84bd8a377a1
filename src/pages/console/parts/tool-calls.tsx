/**
 * Calls of tools in a conversation: what was called with what came of it, and what waits for a person. All of it is
 * shown as text.
 */
import { useState } from 'preact/hooks';
import { ask, request } from '../api.ts';
import type { Session, ToolCall, ToolError } from '../types.ts';
import { Failure } from './failure.tsx';
import { useRequest } from './submit.tsx';
import { State } from './head.tsx';
import { errorWords } from './tool-draft.ts';

type Tone = 'plain' | 'lit' | 'red' | 'good';

const tones: Readonly<Record<ToolCall['status'], Tone>> = {
  running: 'lit',
  pending: 'lit',
  completed: 'good',
  failed: 'red',
  declined: 'plain',
  cancelled: 'plain',
  unknown: 'red',
};

const words: Readonly<Record<string, string>> = {
  ...errorWords,
  declined: 'not approved, and not sent',
  cancelled: 'the turn ended before its result; whether the tool acted is not known',
  unknown: 'its process died before the result was stored; whether the tool acted is not known',
};

/** The state of a call, in red with its word where it failed. */
export const CallState = ({ status, error }: { status: string; error: string | null }) => (
  <>
    <State
      name={status === 'failed' && error !== null ? `failed: ${error}` : status}
      tone={tones[status as ToolCall['status']] ?? 'plain'}
    />
    {error !== null && <span class="note"> {words[error as ToolError]}</span>}
  </>
);

const jsonOf = (value: unknown): string => JSON.stringify(value, null, 2);

/** The output, indented where it is JSON. */
function outputOf(text: string): string {
  try {
    return jsonOf(JSON.parse(text));
  } catch {
    return text;
  }
}

export const Call = ({ of: { name, status, error, arguments: given, output } }: { of: ToolCall }) => (
  <details class="call">
    <summary>
      <code>{name}</code> <CallState status={status} error={error} />
    </summary>
    <div class="stack-wide">
      <pre class="json" tabIndex={0} aria-label={`Arguments of ${name}`}>
        {given === null ? 'No arguments that are a JSON object.' : jsonOf(given)}
      </pre>
      {output !== null && (
        <pre class="json" tabIndex={0} aria-label={`Output of ${name}`}>
          {output === '' ? 'Nothing.' : outputOf(output)}
        </pre>
      )}
    </div>
  </details>
);

type Pending = Session['pending_tool_calls'][number];

interface Options {
  readonly pending: readonly Pending[];
  /** The path of the session. */
  readonly path: string;
  /** Whether a person may answer here: in a trial. Elsewhere only the conversation's own caller may. */
  readonly mayAnswer: boolean;
  /** Called when the server has the answers. */
  readonly answered: () => void;
}

/**
 * The calls that wait: each is approved or declined, and they are sent together, since the server takes all or none.
 */
export function Waiting({ pending, path, mayAnswer, answered }: Options) {
  const [choices, setChoices] = useState<Readonly<Record<string, boolean>>>({});
  const { failure, busy, run } = useRequest();
  if (pending.length === 0) return null;
  const choose = async (id: string, approved: boolean) => {
    const all = { ...choices, [id]: approved };
    setChoices(all);
    if (!pending.every(({ call_id: one }) => one in all)) return;
    const sent = await run(async () => {
      await answerCalls(
        path,
        pending.map(({ call_id: one }) => ({ call_id: one, approved: all[one]! })),
      );
      answered();
      return true;
    });
    if (sent === null) setChoices({});
  };
  return (
    <div class="stack-wide waiting" role="group" aria-label="Waits for an answer">
      {pending.map((one) => (
        <article key={one.call_id} class="approval" aria-label={`The call of ${one.name}`}>
          <p>
            <code>{one.name}</code>{' '}
            <span class="note">
              {one.wants === 'result'
                ? 'waits for its result from the caller of the API'
                : mayAnswer
                  ? 'waits for your approval'
                  : 'waits for approval'}
            </span>
          </p>
          <pre class="json" tabIndex={0} aria-label={`Arguments of ${one.name}`}>
            {jsonOf(one.arguments)}
          </pre>
          {mayAnswer && one.wants === 'approval' && (
            <p class="acts">
              <button
                type="button"
                class={choices[one.call_id] === true ? undefined : 'primary'}
                disabled={busy || one.call_id in choices}
                onClick={() => void choose(one.call_id, true)}
              >
                Approve
              </button>
              <button
                type="button"
                disabled={busy || one.call_id in choices}
                onClick={() => void choose(one.call_id, false)}
              >
                Decline
              </button>
              <span class="note" role="status">
                {one.call_id in choices && (choices[one.call_id] ? 'Approved.' : 'Declined.')}
              </span>
            </p>
          )}
        </article>
      ))}
      <Failure failure={failure} />
    </div>
  );
}

/**
 * Answers calls. The head of the response says that the turn has begun; its stream is then read like any other turn.
 */
async function answerCalls(path: string, results: readonly object[]): Promise<void> {
  const leave = new AbortController();
  await request(`${path}/chat`, { body: { tool_results: results }, signal: leave.signal });
  leave.abort();
}

/** Reads the session of a trial that a reload left open; null if it has ended. */
export async function readOpen(path: string): Promise<Session | null> {
  const found = await ask<Session>(path).catch(() => null);
  return found?.status === 'open' ? found : null;
}
