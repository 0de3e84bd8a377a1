/**
 * A provider with unique answers. Each answer numbers its words, so any part of it shows its turn, its position and the
 * missing words.
 */
import type { ServerResponse } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { Owner } from '../folders.ts';
import { delta, done, eventStream, provider, type Seen } from '../providers/model/provider.ts';

export interface Said {
  /** One word that no other turn has. */
  readonly tag: string;
  readonly words: number;
  /** Between two words; 0 gives them in bursts. */
  readonly delayMs?: number;
  /** Before the first. */
  readonly firstMs?: number;
}

/** Message as a client writes it and the provider understands it. */
export const messageFor = ({ tag, words, delayMs = 0, firstMs = 0 }: Said): string =>
  `say ${tag} ${words} ${delayMs} ${firstMs}`;

const wordAt = (tag: string, index: number): string => `${tag}·${index}${index % 3 === 0 ? '😀' : ''} `;

/** The first words of an answer, as one text. */
export const wordsOf = (tag: string, count: number): string =>
  Array.from({ length: count }, (_, index) => wordAt(tag, index)).join('');

/** Whether a text is the beginning of that answer: nothing strange in it, nothing missing, nothing twice. */
export function begins(tag: string, text: string): boolean {
  let at = 0;
  for (let index = 0; at < text.length; index++) {
    const word = wordAt(tag, index);
    const part = text.slice(at, at + word.length);
    if (!word.startsWith(part)) return false;
    at += word.length;
  }
  return true;
}

const burst = 64;

export interface Speaker {
  readonly baseUrl: string;
  /** Answers that are being given now, and the most there have been since it was set back. */
  speaking: number;
  most: number;
}

export async function openSpeaker(t: Owner): Promise<Speaker> {
  const self = { baseUrl: '', speaking: 0, most: 0 };
  const speak = async (response: ServerResponse, { body }: Seen): Promise<void> => {
    const [, tag = '', words = '', delayMs = '', firstMs = ''] =
      /say (\S+) (\d+) (\d+) (\d+)/.exec(body.messages.at(-1).content) ?? [];
    self.most = Math.max(self.most, ++self.speaking);
    let over = false;
    const end = (): void => {
      if (!over) self.speaking--;
      over = true;
    };
    response.on('close', end);
    if (Number(firstMs) > 0) await pause(Number(firstMs), undefined, { ref: false });
    if (over) return;
    response.writeHead(200, eventStream);
    for (let index = 0; index < Number(words) && !over; index++) {
      response.write(delta(wordAt(tag, index)));
      if (Number(delayMs) > 0 || index % burst === burst - 1) await pause(Number(delayMs), undefined, { ref: false });
      if (response.writableNeedDrain)
        await Promise.race([
          new Promise((resolve) => response.once('drain', resolve)),
          new Promise((resolve) => response.once('close', resolve)),
        ]);
    }
    // Before the last byte: a client that has read it may begin the next turn at once.
    end();
    if (!response.destroyed) response.end(delta('', 'stop') + done);
  };
  const server = await provider((response, seen) => void speak(response, seen));
  t.teardown(() => server.close());
  self.baseUrl = server.baseUrl;
  return self;
}
