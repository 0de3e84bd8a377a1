/**
 * A call from the link's page: what is said in it stands among the messages as it is heard. A module apart, loaded with
 * the first call.
 */
import type { CallEvent } from '../../client/call.ts';
import type { ConversationMessage } from '../../client/conversation.ts';
import { callOnPage } from '../call/call.ts';
import { callWords } from '../call/words.ts';
import type { Chat } from './chat.ts';
import { now } from './clock.ts';
import type { VoicePage } from './voice-page.ts';

/** Resolves when the call has ended as the visitor wished; rejects with words or a limit otherwise. */
export async function callFrom(
  view: VoicePage,
  worklet: string,
  context: AudioContext,
  ending: AbortSignal,
): Promise<void> {
  const { options, element, composer, announcer } = view;
  const chat = options.chat();
  const spoken = new Spoken(chat);
  let last = '';
  const type = (on: boolean): void => {
    element.classList.toggle('typing', on);
    if (on) composer.input.focus();
  };
  element.classList.add('calling');
  try {
    await callOnPage({
      words: callWords[options.language],
      now,
      context,
      worklet,
      ending,
      token: async (options) => chat.parley.sessions.callToken(await chat.session(), options),
      show: (bar) => composer.element.before(bar),
      type,
      say: (text) => announcer.say(text),
      event(event) {
        spoken.take(event);
        // The message was not accepted, and goes back to the visitor.
        if (event.type === 'turn.failed' && event.code === 'turn_in_progress') view.returned(last, null);
        view.changed();
      },
      opened: (message) => (view.typed = (text) => message((last = text))),
    });
  } finally {
    view.typed = null;
    element.classList.remove('calling', 'typing');
    composer.input.focus();
    // The service has what was said, and what became of it.
    void chat.retry();
  }
}

/**
 * The messages of the call. All messages of a turn share an id, by which the page removes them once it has read the
 * stored ones.
 */
class Spoken {
  readonly #chat: Chat;

  constructor(chat: Chat) {
    this.#chat = chat;
  }

  take(event: CallEvent): void {
    const chat = this.#chat;
    if (event.type === 'turn.started') {
      const { message_id: id, turn_id: turn, text } = event;
      this.#turns.set(turn, id);
      const one = { id, stopReason: null, createdAt: null } as const;
      chat.spoken = [
        ...chat.spoken,
        { ...one, role: 'user', content: text, status: 'completed' },
        { ...one, role: 'assistant', content: '', status: 'streaming' },
      ];
    } else if (event.type === 'message.accepted') {
      const { message_id: id, text: content } = event;
      const message = { id, role: 'user', content, status: 'completed', stopReason: null, createdAt: null } as const;
      chat.spoken = [...chat.spoken, message];
    } else if (event.type === 'message.delta')
      this.#reply(event.message_id, ({ content }) => ({ content: content + event.text }));
    else if (event.type === 'turn.completed')
      this.#reply(event.message_id, () => ({ status: 'completed', stopReason: 'end' }));
    else if (event.type === 'turn.aborted')
      this.#reply(event.message_id, () => ({ status: 'partial', stopReason: 'aborted' }));
    else if (event.type === 'turn.withdrawn' || event.type === 'turn.failed')
      this.#undo(this.#turns.get(event.turn_id ?? ''), event.type === 'turn.failed');
  }

  /** The messages by their turns. */
  readonly #turns = new Map<string, string>();

  #reply(id: string, change: (reply: ConversationMessage) => Partial<ConversationMessage>): void {
    this.#chat.spoken = this.#chat.spoken.map((message) =>
      message.id === id && message.role === 'assistant' ? { ...message, ...change(message) } : message,
    );
  }

  /** A turn that never was; one that failed is kept as far as it was heard. */
  #undo(id: string | undefined, keeps: boolean): void {
    const heard = this.#chat.spoken.some(
      (message) => message.id === id && message.role === 'assistant' && message.content !== '',
    );
    if (keeps && heard) this.#reply(id!, () => ({ status: 'partial', stopReason: 'error' }));
    else this.#chat.spoken = this.#chat.spoken.filter((message) => message.id !== id);
  }
}
