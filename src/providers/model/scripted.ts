/** The embedded model: a table of rules, no network and no weights. It says that it is not a language model. */
import type { Clock, Timer } from '../../base/clock.ts';
import type { Model } from '../model.ts';
import type { ModelMessage, SaidMessage } from '../model.ts';
import { replyTo } from './scripted/engine.ts';

const wordsPerStep = 4;
/** An answer of more words can be watched as it comes, and aborted; others come as fast as the process lets them. */
const longWords = 100;
const [longStepMs, longMsMax] = [100, 5_000];

export function scriptedModel(clock: Clock): Model {
  return {
    provider: 'scripted',
    needsCredential: false,
    start({ messages, assistantName }, sink) {
      let cancelled = false;
      let timer: Timer | null = null;
      let words: readonly string[] | null = null;
      let given = 0;
      let stepMs = 0;
      const step = (): void => {
        const asked = callAsked(messages);
        if (asked !== null) {
          sink.call?.(asked);
          return sink.end();
        }
        if (words === null) {
          words =
            answerTo(messages, assistantName)
              .trimEnd()
              .match(/\s+\S*|\S+/g) ?? [];
          if (words.length > longWords && messages.at(-1)?.role === 'user')
            stepMs = Math.min(longStepMs, (longMsMax * wordsPerStep) / words.length);
        }
        for (let i = 0; i < wordsPerStep && given < words.length && !cancelled; i++) sink.text(words[given++]!);
        if (cancelled) return;
        if (given === words.length) sink.end();
        else timer = clock.after(stepMs, step);
      };
      // The first words come at once, the others with the clock's ticks, which leaves the process to others in between.
      queueMicrotask(() => {
        if (!cancelled) step();
      });
      return {
        cancel() {
          cancelled = true;
          timer?.cancel();
        },
      };
    },
  };
}

/** The call that a message asks for: `/call NAME {json}`, so that tools can be tried without another model. */
function callAsked(messages: readonly ModelMessage[]): { name: string; arguments: string } | null {
  const last = messages.at(-1);
  const found = last?.role === 'user' ? /^\/call\s+(\S+)\s*([^]*)$/.exec(last.content.trim()) : null;
  return found === null ? null : { name: found[1]!, arguments: found[2]! };
}

/** After a tool call the answer is the tools' output. */
function answerTo(messages: readonly ModelMessage[], assistantName: string): string {
  const behind = messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
  const results = behind.filter(({ role }) => role === 'tool');
  if (results.length > 0) return `The tool answered: ${results.map(({ content }) => content).join(' ')}`;
  return replyTo(
    messages.filter((message): message is SaidMessage => message.role !== 'tool'),
    assistantName,
  );
}
