/** Numbers, times and durations as a person reads them. Times are local; the title of their element has UTC. */
const number = new Intl.NumberFormat('en');
const time = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' });
const dayAndTimeOfYear = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});
const dayAndTime = new Intl.DateTimeFormat('en-GB', {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
});

export const count = (value: number): string => number.format(value);
export const timeOfDay = (milliseconds: number): string => time.format(milliseconds);
export const date = (unixSeconds: number): string => day.format(unixSeconds * 1000);
/** Day and time of day; with its year, where that is not the year of `now`, in Unix seconds as well. */
export const moment = (unixSeconds: number, now: number): string =>
  (isSameYear(unixSeconds, now) ? dayAndTime : dayAndTimeOfYear).format(unixSeconds * 1000);
export const isSameYear = (one: number, other: number): boolean =>
  new Date(one * 1000).getFullYear() === new Date(other * 1000).getFullYear();
export const utc = (milliseconds: number): string => new Date(milliseconds).toISOString();

/** 45 s, 52 min 14 s, 3 h 5 min, 2 d 4 h */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86_400)} d ${Math.floor((whole % 86_400) / 3600)} h`;
}

/** The largest unit of it, for what lies behind. */
export function ago(unixSeconds: number, now: number): string {
  const passed = now - unixSeconds;
  if (passed < 5) return 'just now';
  if (passed < 60) return `${passed} s ago`;
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
  if (passed < 86_400) return `${Math.floor(passed / 3600)} h ago`;
  if (passed < 30 * 86_400) return `${Math.floor(passed / 86_400)} d ago`;
  return date(unixSeconds);
}

/** 1 key, 2 keys */
export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;

/** The beginning of an id, where the whole of it stands in a title. */
export const shortId = (id: string): string => (id.length > 16 ? `${id.slice(0, 13)}…` : id);

export function bytes(value: number): string {
  if (value < 1024 * 1024) return `${Math.round(value / 1024)} KB`;
  return value < 1024 ** 3 ? `${Math.round(value / 1024 ** 2)} MB` : `${(value / 1024 ** 3).toFixed(1)} GB`;
}
