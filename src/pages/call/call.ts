/** A call on a page: the client's call with the bar, its keys and its hints. Loaded with the first call. */
import { browserCall, type BrowserCall, type Device } from '../../client/browser-call.ts';
import type { CallEvent, CallOptions } from '../../client/call.ts';
import { realClock } from '../../client/clock.ts';
import { RateLimitError } from '../../client/failure.ts';
import { CallBar } from './bar.ts';
import type { CallWords } from './words.ts';

export interface PageCallOptions {
  readonly words: CallWords;
  /** Made in the handler of the click. The call closes it. */
  readonly context: AudioContext;
  /** The address of the worklet. */
  readonly worklet: string;
  readonly token: CallOptions['token'];
  /** Hangs up. */
  readonly ending: AbortSignal;
  /** Puts the bar into the page. */
  show(bar: HTMLElement): void;
  /** Shows or hides the text field. */
  type(on: boolean): void;
  /** Announces a text to screen readers. */
  say(text: string): void;
  event(event: CallEvent): void;
  /** The time of day, in milliseconds. */
  now(): number;
  /** The call takes typed messages from now on. */
  opened(message: (text: string) => void): void;
}

/** A failure with words for the person. */
export class CallFailure extends Error {
  readonly said: string;

  constructor(said: string, cause: unknown) {
    super(said, { cause });
    this.said = said;
  }
}

/** Number of our own words in the microphone after which headphones are suggested. */
const echoesMax = 3;
/** The time left is shown from here on, in seconds. */
const leftShown = 60;

/**
 * Resolves when the call has ended as the person wished; rejects with a `CallFailure` or a `RateLimitError` otherwise.
 */
export async function callOnPage(options: PageCallOptions): Promise<void> {
  const talk = new Talk(options);
  try {
    await talk.run();
  } finally {
    talk.leave();
  }
}

class Talk {
  readonly #options: PageCallOptions;
  readonly #bar: CallBar;
  readonly #leaving = new AbortController();
  #open: BrowserCall | null = null;
  #device: Device = { microphone: 'open', loudspeaker: 'open', echo: 'cancelled' };
  /**
   * Whether it is said that nobody is heard over a reply: from the first moment of a microphone that hears the reply to
   * the end of the first that it heard.
   */
  #advises = false;
  /** Words of utterances that are no message yet. */
  #finals: string[] = [];
  #heard = '';
  #echoes = 0;
  /** Said until the next turn. */
  #fault = '';
  #failure: Error | null = null;
  #stopClock: () => void = () => {};

  constructor(options: PageCallOptions) {
    this.#options = options;
    const { words } = options;
    this.#bar = new CallBar({
      words,
      interrupt: () => this.#open?.call.interrupt(),
      mute: () => this.#mute(),
      type: options.type,
      hangUp: () => this.#hangUp(),
    });
    options.show(this.#bar.element);
    this.#bar.element.focus();
    document.addEventListener('keydown', (event) => this.#key(event), { capture: true, signal: this.#leaving.signal });
    options.ending.addEventListener('abort', () => this.#hangUp(), { signal: this.#leaving.signal });
  }

  async run(): Promise<void> {
    const { context, worklet, token, words, opened } = this.#options;
    const { signal } = this.#leaving;
    if (!isSecureContext) {
      void context.close();
      throw new CallFailure(words.insecure, null);
    }
    try {
      // A person who wants less of what moves by itself wants less of what sounds by itself.
      const thinkingSound = !matchMedia('(prefers-reduced-motion: reduce)').matches;
      // A server behind TLS may know itself by another name than the page does.
      this.#open = await browserCall({
        context,
        worklet,
        token,
        url: location.origin,
        thinkingSound,
        onDevice: (device) => this.#note(device),
      });
    } catch (error) {
      if (signal.aborted) return;
      const { name } = error as Error;
      throw new CallFailure(name === 'NotAllowedError' ? words.denied : words.noMicrophone, error);
    }
    const { call } = this.#open;
    // The person hung up while the browser asked for the microphone.
    if (signal.aborted) return call.hangUp();
    call.subscribe((event) => this.#take(event));
    opened((text) => call.message(text));
    this.#draw();
    await call.closed;
    if (this.#failure !== null) throw this.#failure;
  }

  leave(): void {
    this.#leaving.abort();
    this.#stopClock();
    this.#bar.element.remove();
  }

  #hangUp(): void {
    if (this.#open === null) this.leave();
    else void this.#open.call.hangUp();
  }

  #mute(): void {
    if (this.#open === null) return;
    const { call } = this.#open;
    this.#bar.muted = call.muted = !call.muted;
    if (call.muted) this.#options.say(this.#options.words.muted);
  }

  /** Keys of the call, where nothing is written and no button has the focus. */
  #key(event: KeyboardEvent): void {
    const target = event.target as Element;
    if (
      event.altKey ||
      event.ctrlKey ||
      event.metaKey ||
      event.isComposing ||
      target.closest('input, textarea, select, dialog, [contenteditable]') !== null
    )
      return;
    const { key } = event;
    // Space scrolls as usual if there is nothing to interrupt; Escape would close a widget, and the call with it.
    const interrupts =
      key === 'Escape' ||
      (key === ' ' &&
        this.#bar.interruptible &&
        target.closest('button, a, summary, [role="button"], [role="slider"]') === null);
    // A letter is a shortcut of the bar alone: elsewhere it may be dictated, or struck by chance (WCAG 2.1.4).
    const mutes = key.toLowerCase() === 'm' && this.#bar.element.contains(target);
    if (!interrupts && !mutes) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (event.repeat) return;
    if (interrupts) this.#open?.call.interrupt();
    else this.#mute();
  }

  #take(event: CallEvent): void {
    const bar = this.#bar;
    if (event.type === 'state') bar.state = event.state;
    else if (event.type === 'ready') this.#count(event.expires_at);
    else if (event.type === 'transcript.partial') bar.partial([...this.#finals, event.text].join(' '));
    else if (event.type === 'transcript.final') this.#final(event);
    else if (event.type === 'turn.started') {
      [this.#finals, this.#heard] = [[], ''];
      if (event.spoken) this.#say('');
    } else if (event.type === 'message.accepted') {
      [this.#finals, this.#heard] = [[], ''];
      this.#say(this.#options.words.accepted);
    } else if (event.type === 'message.delta') bar.heard((this.#heard += event.text), 'speaking');
    else if (event.type === 'turn.completed' || event.type === 'turn.aborted') {
      bar.heard(this.#heard, event.type === 'turn.completed' ? 'whole' : 'cut');
      this.#advise(false);
    } else if (event.type === 'turn.failed') this.#say(this.#failed(event.code, event.turn_id));
    else if (event.type === 'closed') this.#failure = this.#ending(event);
    this.#options.event(event);
  }

  #final({ text, ignored }: Extract<CallEvent, { type: 'transcript.final' }>): void {
    const { words, say } = this.#options;
    if (ignored === 'failed') return this.#say(words.notUnderstood);
    if (ignored === 'echo' && ++this.#echoes === echoesMax) return this.#say(words.headphones);
    if (ignored !== null || text === '') return;
    this.#finals.push(text);
    this.#bar.partial(this.#finals.join(' '));
    say(text);
  }

  #failed(code: string, turnId: string | null): string {
    const { words } = this.#options;
    if (code === 'turn_in_progress') return words.busyNow;
    if (code === 'rate_limited') return words.limited;
    if (code === 'voice_unavailable') return words.noVoice;
    return code === 'assistant_unavailable' || turnId !== null ? words.noReply : words.failed;
  }

  /** The words for what ended the call; null where the person did. */
  #ending({ reason, error }: Extract<CallEvent, { type: 'closed' }>): Error | null {
    const { words } = this.#options;
    // A person who takes the session says so in the conversation.
    if (reason === 'hangup' || reason === 'person') return null;
    if (reason === 'replaced') return new CallFailure(words.replaced, null);
    if (error instanceof RateLimitError) return error;
    const { code = null } = error as { code?: string | null };
    const isOver = code === 'session_ended' || code === 'session_expired';
    return new CallFailure(isOver ? words.over : code === null ? words.cutOff : words.noVoice, error);
  }

  #say(fault: string): void {
    this.#fault = fault;
    this.#hint();
  }

  #note(device: Device): void {
    if (device.echo !== this.#device.echo) this.#advises = device.echo === 'heard';
    this.#device = device;
    this.#hint();
  }

  #advise(advises: boolean): void {
    this.#advises = advises;
    this.#hint();
  }

  /** A device that fails is said before all else, and what goes wrong before advice. */
  #hint(): void {
    const { words } = this.#options;
    const { microphone, loudspeaker } = this.#device;
    const bar = this.#bar;
    const wrong =
      microphone === 'lost'
        ? words.unplugged
        : microphone === 'silent' && !this.#open?.call.muted
          ? words.silent
          : this.#fault;
    bar.unheard = microphone === 'held' || microphone === 'lost';
    const goOn = { label: words.goOn, run: () => this.#open?.resume() };
    if (microphone === 'held') bar.hint(words.microphoneAway, goOn);
    else if (loudspeaker === 'held') bar.hint(words.away, goOn);
    else if (wrong === words.silent) bar.hint(wrong, goOn);
    else if (wrong === '' && this.#advises)
      bar.hint(words.halfDuplex, { label: words.withHeadphones, advice: true, run: () => this.#speakOver() });
    else bar.hint(wrong);
  }

  /** The person has headphones. */
  #speakOver(): void {
    this.#open!.call.halfDuplex = false;
    this.#advise(false);
  }

  /** Shows the time left from the last minute on. */
  #count(expiresAt: number | null): void {
    this.#stopClock();
    if (expiresAt === null) return;
    const look = (): void => {
      const left = Math.max(0, Math.ceil(expiresAt - this.#options.now() / 1000));
      this.#bar.left = left <= leftShown ? left : null;
      this.#stopClock = realClock.after(left <= leftShown ? 1_000 : (left - leftShown) * 1_000, look);
    };
    look();
  }

  /** Draws the mark, which swells with the speaker's loudness. */
  #draw(): void {
    if (this.#leaving.signal.aborted) return;
    const { call, level, loudspeaker } = this.#open!;
    this.#bar.level = call.state === 'speaking' ? loudspeaker.level : call.muted ? 0 : level;
    requestAnimationFrame(() => this.#draw());
  }
}
