/** Times: local, with UTC in the title. */
import { seconds, tick } from '../clock.ts';
import { ago, date, duration, moment, timeOfDay, utc } from '../format.ts';

export const Ago = ({ at }: { at: number }) => (
  <time dateTime={utc(at * 1000)} title={utc(at * 1000)}>
    {ago(at, tick.value)}
  </time>
);

export const MomentText = ({ at }: { at: number }) => (
  <time dateTime={utc(at * 1000)} title={utc(at * 1000)}>
    {moment(at, seconds())}
  </time>
);

export const Day = ({ at }: { at: number }) => (
  <time dateTime={utc(at * 1000)} title={utc(at * 1000)}>
    {date(at)}
  </time>
);

/** Hours, minutes and seconds, of a time in milliseconds. */
export const TimeOfDay = ({ at }: { at: number }) => (
  <time dateTime={utc(at)} title={utc(at)}>
    {timeOfDay(at)}
  </time>
);

/** Time until a date; "over" once it has passed. */
export const Until = ({ at }: { at: number }) => (
  <time dateTime={utc(at * 1000)} title={utc(at * 1000)}>
    {at <= tick.value ? 'over' : duration(at - tick.value)}
  </time>
);
