/** The answer that is not streamed, of a turn that failed (contract 14). */
import { rowOfCode } from '../../base/errors.ts';
import { isFinal, openaiFailureText, openaiStatus } from '../openai-errors.ts';
import { jsonType, type Reply } from '../request.ts';

/** The failure's status and body; its partial output stays in the transcript. `code`: a code of contract 2. */
export function failedReply(code: string, requestId: string, headers: Readonly<Record<string, string>>): Reply {
  const row = rowOfCode(code);
  return {
    status: openaiStatus(row.status),
    headers: { ...headers, 'content-type': jsonType, ...(isFinal(row) && { 'x-should-retry': 'false' }) },
    text: openaiFailureText({ row, message: row.message, seconds: undefined, param: undefined }, requestId),
  };
}
