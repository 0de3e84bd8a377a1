/**
 * Finds out whether a server speaks HTTP/2, which this client does not: for an operator whose provider seems to say
 * nothing. A server of HTTP/2 answers the preface of a connection with a SETTINGS frame (RFC 9113, 3.4).
 */
import type { Clock } from '../../base/clock.ts';
import type { Dialer } from './dial.ts';
import type { Target } from './target.ts';

const emptySettings = Buffer.from('000000040000000000', 'hex');
const preface = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), emptySettings]);

/** Bytes of a frame's head: length (3), type (1), flags (1), stream (4). */
const headBytes = 9;
const settingsType = 4;

const isSettings = (head: Buffer): boolean => head[3] === settingsType && head.readUInt32BE(5) === 0;

/** Resolves with whether the server speaks it within so many milliseconds. Never rejects. */
export function speaksHttp2(dialer: Dialer, clock: Clock, target: Target, ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    let head = Buffer.alloc(0);
    const socket = dialer.open(
      target,
      {
        connected: () => void socket.write(preface),
        read(bytes, length) {
          head = Buffer.concat([head, bytes.subarray(0, Math.min(length, headBytes - head.length))]);
          if (head.length === headBytes) socket.destroy();
          return true;
        },
        finished: () => socket.destroy(),
        closed() {
          timer.cancel();
          resolve(head.length === headBytes && isSettings(head));
        },
      },
      ['h2'],
    );
    const timer = clock.after(ms, () => socket.destroy());
  });
}
