/** Plays the reply of a call, and reports how much of it was heard (contract 18). */
import type { WireMessage } from './call-messages.ts';
import type { Clock } from './clock.ts';
import type { Player } from './player.ts';

/** Milliseconds between two reports of a reply that is played. */
const reportMs = 250;

/** The message that is being played. */
interface Playing {
  readonly id: string;
  samples: number;
  /** All of it has come. */
  whole: boolean;
  heard: number;
  reported: number;
  reportedAt: number;
  /** The message is finished: no more of it is played or reported. */
  over: boolean;
}

const unheard = { samples: 0, whole: false, heard: 0, reported: -1, reportedAt: -Infinity, over: false };

export interface ReplyPlaybackOptions {
  readonly player: Player;
  readonly clock: Clock;
  readonly bytesPerSample: number;
  /** Reports the samples of a message that were heard. */
  readonly report: (id: string, samples: number) => void;
  /** The message was first heard at this time. */
  readonly begun: (id: string, at: number) => void;
}

export class ReplyPlayback {
  readonly #options: ReplyPlaybackOptions;
  #playing: Playing | null = null;

  constructor(options: ReplyPlaybackOptions) {
    this.#options = options;
  }

  /** Does what a message of the service says about the audio of a reply. */
  take(message: WireMessage): void {
    const { player } = this.#options;
    if (message.type === 'audio.start') this.#playing = { id: message.message_id, ...unheard };
    const playing = this.#playing;
    if (playing === null || !('message_id' in message) || message.message_id !== playing.id) return;
    if (message.type === 'audio.end') {
      playing.whole = true;
      if (playing.heard === playing.samples) void this.#report(playing, playing.heard);
    }
    if (message.type === 'audio.pause') void this.#report(playing, player.pause(playing.id));
    if (message.type === 'audio.resume') player.resume(playing.id);
    if (message.type === 'audio.clear') void this.#clear(playing);
  }

  play(audio: Uint8Array): void {
    const playing = this.#playing;
    if (playing === null || playing.over) return;
    playing.samples += audio.length / this.#options.bytesPerSample;
    this.#options.player.play(playing.id, audio);
  }

  /** Takes the position that the player has reached in a message. */
  heard(id: string, samples: number): void {
    const { clock, player, begun } = this.#options;
    const playing = this.#playing;
    if (playing === null || playing.id !== id || playing.over) return;
    const now = clock.now();
    if (playing.heard === 0 && samples > 0) begun(id, now - (samples * 1000) / player.sampleRate);
    playing.heard = Math.max(playing.heard, samples);
    const all = playing.whole && playing.heard >= playing.samples;
    if (playing.heard > playing.reported && (all || now - playing.reportedAt >= reportMs))
      void this.#report(playing, playing.heard);
  }

  /** Drops what is being played. */
  silence(): void {
    if (this.#playing === null) return;
    this.#playing.over = true;
    void this.#options.player.clear(this.#playing.id);
    this.#playing = null;
  }

  async #report(playing: Playing, position: number | Promise<number>): Promise<void> {
    const samples = Math.max(playing.heard, typeof position === 'number' ? position : await position);
    playing.heard = playing.reported = samples;
    playing.reportedAt = this.#options.clock.now();
    this.#options.report(playing.id, Math.round(samples));
  }

  async #clear(playing: Playing): Promise<void> {
    playing.over = true;
    await this.#report(playing, this.#options.player.clear(playing.id));
  }
}
