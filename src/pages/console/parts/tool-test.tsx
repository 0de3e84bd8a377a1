/** A test call: one function of a tool, with arguments written here. */
import { useState } from 'preact/hooks';
import { ask } from '../api.ts';
import { count } from '../format.ts';
import type { Tool, ToolTest } from '../types.ts';
import { Area, Choice } from './field.tsx';
import { State } from './head.tsx';
import { FormEnd, useSubmit } from './submit.tsx';
import { argumentsFor, errorWords, readObject } from './tool-draft.ts';

export function ToolTestCall({ tool: { functions, kind }, path }: { tool: Tool; path: string }) {
  const [name, setName] = useState(functions[0]?.name ?? '');
  const chosen = functions.find((one) => one.name === name) ?? functions[0];
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const [result, setResult] = useState<ToolTest | null>(null);
  const text = chosen === undefined ? '{}' : (texts[chosen.name] ?? argumentsFor(chosen));
  const read = readObject(text);
  const sending = useSubmit(async () => {
    setResult(null);
    setResult(
      await ask<ToolTest>(`${path}/test`, {
        body: { name: chosen?.name, arguments: 'value' in read ? read.value : {} },
      }),
    );
  });
  if (kind === 'client' || chosen === undefined) return null;
  return (
    <section class="section" aria-label="Test call">
      <h2>Test call</h2>
      <p class="note">
        Sends one call as a conversation would, also of a function that is off. It takes one of the calls a minute, and
        is no usage.
      </p>
      <form class="form" onSubmit={sending.submit}>
        <Choice
          label="Function to call"
          value={chosen.name}
          onValue={(value) => (setName(value), setResult(null))}
          choices={functions.map((one) => [one.name, one.enabled ? one.name : `${one.name} (off)`] as const)}
        />
        <Area
          label="Arguments"
          rows={5}
          value={text}
          onValue={(value) => setTexts({ ...texts, [chosen.name]: value })}
          fault={'fault' in read ? read.fault : null}
          failure={sending.failure}
          note="A JSON object."
          code
        />
        <FormEnd sending={sending} act="Send the call" disabled={'fault' in read} />
      </form>
      <div role="status">{result !== null && <Result of={result} />}</div>
    </section>
  );
}

const Result = ({ of: { status, error, reason, output, milliseconds, call_id: id } }: { of: ToolTest }) => (
  <div class="stack-wide">
    <p>
      <State name={status} tone={error === null ? 'good' : 'red'} />{' '}
      <span class="note">
        {error !== null && (
          <>
            <code>{error}</code>: {errorWords[error]}.{' '}
          </>
        )}
        {count(milliseconds)} ms
      </span>
    </p>
    {reason !== null && <p>{reason}</p>}
    {output !== null &&
      (output === '' ? (
        <p class="note">It answered with nothing.</p>
      ) : (
        <pre class="json" tabIndex={0} aria-label="Output">
          {output}
        </pre>
      ))}
    <p class="note">
      <code>{id}</code>
    </p>
  </div>
);
