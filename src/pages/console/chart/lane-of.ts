/** The voices of a call and what they led to, worked out of the steps of its actor. Times are in milliseconds. */
import type { Utterance } from '../../../../machines/call.ts';
import { count } from '../format.ts';
import { cutWords } from '../parts/cut-words.ts';
import type { Emitted } from '../types.ts';
import type { Step } from './steps.ts';

export type Side = 'person' | 'assistant';

export interface Span {
  readonly side: Side;
  readonly from: number;
  /** Null while it lasts. */
  readonly to: number | null;
}

export interface Mark {
  readonly side: Side;
  readonly at: number;
  /** A word or two, for the drawing. */
  readonly word: string;
  /** The time that it took; null where none was waited for. */
  readonly ms: number | null;
  /** A sentence, for the list. */
  readonly told: string;
  readonly fails: boolean;
}

export interface Lane {
  readonly spans: readonly Span[];
  readonly marks: readonly Mark[];
}

/** Events during which a voice continues. */
const voiced: readonly string[] = ['voice', 'voiced', 'words'];

class Drawer {
  readonly marks: Mark[] = [];
  readonly #spans: Span[] = [];
  /** The person's utterances, by their beginning. */
  readonly #utterances = new Map<number, Span>();
  #last: Utterance | null = null;
  /** When the assistant began to speak, or to speak again. */
  #speaksFrom: number | null = null;
  #pausedAt: number | null = null;
  /** Whether the reply to come answers what was said aloud. */
  #isAnswer = false;

  get spans(): Span[] {
    const now: Span[] = this.#speaksFrom === null ? [] : [{ side: 'assistant', from: this.#speaksFrom, to: null }];
    return [...this.#utterances.values(), ...this.#spans, ...now];
  }

  take(step: Step): void {
    this.#hear(step);
    if (step.event === 'said') this.#isAnswer = true;
    if (step.event === 'typed') this.#isAnswer = false;
    for (const outcome of step.outcomes) this.#act(outcome, step);
  }

  /** Joins a call that has begun before. */
  join({ from, at }: Step): void {
    if (from === 'speaking' || from === 'draining') this.#speaksFrom = at;
    if (from === 'paused') this.#pausedAt = at;
  }

  /** Ends the lane with its call. */
  end(at: number): void {
    this.#quiet(at);
    for (const [from, span] of this.#utterances) if (span.to === null) this.#utterances.set(from, { ...span, to: at });
  }

  /** Draws the end of a reply whose listener's position had to be found. */
  settle({ from, to, at }: Step): void {
    if (from !== 'settling') return;
    if (to === 'withdrawn')
      this.#mark('assistant', at, 'taken back', null, 'Nothing of the reply was heard: it is taken back');
    else if (to === 'sealed')
      this.#mark('assistant', at, 'sealed', null, 'The transcript has what was heard of the reply');
  }

  #hear({ event, data, at }: Step): void {
    const utterance = data?.['utterance'] as Utterance | undefined;
    if (utterance === undefined) return;
    this.#last = utterance;
    const known = this.#utterances.get(utterance.from);
    // The words that decide may come behind the voice.
    const lasts = voiced.includes(event) && !(event === 'words' && known?.to !== null);
    for (const [from, span] of this.#utterances)
      if (from !== utterance.from && span.to === null) this.#utterances.set(from, { ...span, to: at });
    this.#utterances.set(utterance.from, { side: 'person', from: utterance.from, to: lasts ? null : utterance.to });
  }

  #act({ type, reason, code }: Emitted, step: Step): void {
    const { at, event, outcomes } = step;
    if (type === 'turn.announce' || (type === 'turn.begin' && event !== 'full')) this.#turnEnds(step);
    else if (type === 'audio.begin') this.#begins(at);
    else if (type === 'audio.pause') {
      this.#quiet(at);
      this.#pausedAt = at;
      this.#mark('assistant', at, 'pause', this.#sinceVoice(at), 'The reply is held $ after a voice began over it');
    } else if (type === 'audio.resume') {
      this.#mark(
        'assistant',
        at,
        'goes on',
        this.#pausedAt === null ? null : at - this.#pausedAt,
        'The reply goes on after $: no word was said to it',
      );
      this.#speaksFrom = at;
    } else if (type === 'turn.cut') this.#cut(at, String(reason));
    // A greeting has no turn to be cut.
    else if (type === 'audio.clear' && !outcomes.some((one) => one.type === 'turn.cut'))
      this.#cut(at, event === 'words' ? 'speech' : 'client');
    else if (type === 'turn.withdraw' && step.from !== 'hearing')
      this.#mark('assistant', at, 'taken back', null, 'Nothing of the reply was heard: it is taken back');
    else if (type === 'turn.finish') this.#quiet(at);
    else if (type === 'turn.fail' || type === 'turn.failed') {
      this.#quiet(at);
      this.#mark('assistant', at, 'failed', null, `The reply failed${code ? `: ${code}` : ''}`, true);
    }
  }

  #turnEnds({ at, event }: Step): void {
    if (event === 'typed') this.#mark('person', at, 'typed', null, 'A message was typed');
    else
      this.#mark(
        'person',
        at,
        'turn',
        this.#last === null ? null : at - this.#last.to,
        'The turn of the person is over after a silence of $',
      );
  }

  #begins(at: number): void {
    // The beginning of the turn and the beginning of its audio may both report the audio.
    if (this.#speaksFrom !== null) return;
    this.#speaksFrom = at;
    const ms = this.#isAnswer && this.#last !== null ? at - this.#last.to : null;
    this.#mark(
      'assistant',
      at,
      'reply',
      ms,
      ms === null ? 'The assistant begins to speak' : 'The reply begins $ after the voice of the person',
    );
    this.#isAnswer = false;
  }

  #cut(at: number, reason: string): void {
    if (this.#speaksFrom === null && this.#pausedAt === null) return;
    this.#quiet(at);
    const words = reason in cutWords ? cutWords[reason as keyof typeof cutWords] : 'it ended with the call';
    const ms = reason === 'speech' ? this.#sinceVoice(at) : null;
    this.#mark(
      'assistant',
      at,
      'cut',
      ms,
      `The reply is cut${ms === null ? '' : ' $ after a voice began over it'}: ${words}`,
    );
  }

  /** Milliseconds since the person began to speak. */
  readonly #sinceVoice = (at: number): number | null => (this.#last === null ? null : at - this.#last.from);

  #quiet(at: number): void {
    if (this.#speaksFrom !== null) this.#spans.push({ side: 'assistant', from: this.#speaksFrom, to: at });
    this.#speaksFrom = this.#pausedAt = null;
  }

  /** `told` has a dollar in place of the time. */
  #mark(side: Side, at: number, word: string, time: number | null, told: string, fails = false): void {
    const ms = time === null ? null : Math.max(0, Math.round(time));
    this.marks.push({ side, at, word, ms, told: told.replace('$', ms === null ? 'some time' : inMs(ms)), fails });
  }
}

/** 1,240 ms */
export const inMs = (ms: number): string => `${count(ms)} ms`;

/** `replies`: the steps of the call's replies, whose machines decide what becomes of a reply that was cut. */
export function laneOf(steps: readonly Step[], replies: readonly Step[] = []): Lane {
  const drawer = new Drawer();
  if (steps[0] !== undefined) drawer.join(steps[0]);
  for (const step of steps) drawer.take(step);
  for (const reply of replies) drawer.settle(reply);
  const last = steps.at(-1);
  if (last?.to === 'closed') drawer.end(last.at);
  return { spans: drawer.spans, marks: drawer.marks.sort((one, other) => one.at - other.at) };
}
