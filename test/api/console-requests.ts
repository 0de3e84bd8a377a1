/** Requests of the console's API, and the checks of their answers. */
import { type Test } from 'tap';
import type { Answer, House } from './house.ts';
import { type Refusal, isRated, missingField, refusals, unrated, wrongField } from './refusal.ts';

export const missing = (field: string): Refusal => unrated(missingField(field));
export const wrong = (field: string): Refusal => unrated(wrongField(field));
export const nowhere = unrated(refusals.noRoute);
export const nobody = (prefix: string) => `${prefix}_${'0'.repeat(26)}`;

export const patch = (house: House, path: string, body: unknown) => house.console(path, { method: 'PATCH', body });
export const post = (house: House, path: string) => house.console(path, { method: 'POST' });
export const remove = (house: House, path: string) => house.console(path, { method: 'DELETE' });

/** An answer of the console: its status, a request id, and no rate headers. */
export function answers(t: Test, answer: Answer, status: number, name: string): any {
  t.equal(answer.status, status, name);
  t.match(answer.headers.get('x-request-id'), /^req_/, name);
  isRated(t, answer, false, name);
  if (status === 204) t.same([answer.text, answer.headers.get('content-type')], ['', null], name);
  return answer.json;
}
