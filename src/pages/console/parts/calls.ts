/** The code of calls, loaded with the first one. */
export { callOnPage } from '../../call/call.ts';
export { callWords } from '../../call/words.ts';
