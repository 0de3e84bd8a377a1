/** The embedded model: a table of rules, no network and no weights. It says that it is not a language model. */
import type { Clock, Timer } from '../../base/clock.ts';
import type { Model } from '../model.ts';
import { replyTo } from './scripted/engine.ts';

const wordsPerStep = 4;

export function scriptedModel(clock: Clock): Model {
  return {
    provider: 'scripted',
    needsCredential: false,
    start({ messages, assistantName }, sink) {
      let cancelled = false;
      let timer: Timer | null = null;
      let words: readonly string[] | null = null;
      let given = 0;
      const step = (): void => {
        words ??= replyTo(messages, assistantName).match(/\s*\S+/g) ?? [];
        for (let i = 0; i < wordsPerStep && given < words.length && !cancelled; i++) sink.text(words[given++]!);
        if (cancelled) return;
        if (given === words.length) sink.end();
        else timer = clock.after(0, step);
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
