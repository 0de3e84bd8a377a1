/** The cost of a public link on the worst day, shown beside its limits. */
import { count, plural } from '../format.ts';
import { linkLimitNames } from '../../../base/link-limits.ts';
import { limitOf, type LinkLimits } from './link-limits.ts';

/** Output tokens a second of a fast model. */
const tokensPerSecond = 100;

/**
 * A visitor's last turn runs on to its end once the minutes are used up: five minutes unless the server is set
 * otherwise, and a minute on the clock.
 */
const minutesLeftOver = 6;

const minutesOfDay = 24 * 60;

/** 3.6 million, 216 thousand */
function tokens(minutes: number): string {
  const all = minutes * 60 * tokensPerSecond;
  if (all < 1e6) return count(all);
  return all < 1e9 ? `${count(Math.round(all / 1e5) / 10)} million` : `${count(Math.round(all / 1e8) / 10)} billion`;
}

/** The form's fields that bound the cost: the limits, the provider, the most tokens of a reply. */
interface Costly {
  readonly linkLimits: LinkLimits;
  readonly provider: string;
  readonly outputTokens: string;
}

export function worstDay({ linkLimits, provider, outputTokens }: Costly): string {
  const [minutes, visitors] = [limitOf(linkLimits, 'minutes_per_day'), limitOf(linkLimits, 'concurrent_visitors')];
  const nobody = linkLimitNames.some((name) => limitOf(linkLimits, name) === 0);
  if (nobody) return 'A limit is 0: nobody is answered, and the link costs nothing.';
  if (minutes === null && visitors === null)
    return 'Nothing bounds what a day may cost: give it minutes, or a number of visitors at a time.';
  const over = visitors === null ? null : visitors * minutesLeftOver;
  const bound =
    minutes === null
      ? visitors! * minutesOfDay
      : Math.min(minutes + (over ?? 0), visitors === null ? Infinity : visitors * minutesOfDay);
  return [
    minutes === null
      ? `On the worst day ${plural(visitors!, 'visitor')} ${visitors === 1 ? 'is' : 'are'} answered without a pause from midnight to midnight.`
      : `On the worst day replies come without a pause for ${plural(minutes, 'minute')}${over === null ? '' : `, and for up to ${count(bound - minutes)} more in turns that still run when these are used up`}.`,
    `With a model that writes ${tokensPerSecond} tokens a second, that is ${tokens(bound)} output tokens${over === null && minutes !== null ? ', and the turns that still run then' : ''}.`,
    provider === 'scripted'
      ? 'The embedded model costs nothing.'
      : `${outputTokens.trim() === '' ? '' : `A reply has at most ${plural(Number(outputTokens), 'token')}. `}What the model reads comes on top: each message sends the conversation again.`,
  ].join(' ');
}
