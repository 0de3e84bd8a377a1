/**
 * `/console/api/workspaces/{w}/tools/{id}/test`: one call of a function, with the arguments of a person (contract 13).
 */
import { Failure } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { TestToolBody } from '../../wire/wire.ts';
import { changesOf } from '../../store/parts/audit.ts';
import { cutOutput } from '../../providers/tool.ts';
import { parsedArgumentsError } from '../../providers/tool/arguments.ts';
import type { Reply } from '../request.ts';
import { recordAct } from './audit.ts';
import type { ConsoleRequest } from './common.ts';
import { reachTool } from './tools.ts';

/** A function that is off can be tested, so that a person can look at it before turning it on. */
export async function testTool(request: ConsoleRequest<unknown, TestToolBody>): Promise<Reply> {
  const { body, services } = request;
  const { record } = await reachTool(request);
  if (record.kind === 'client') throw new Failure('invalid_field', { field: 'kind' });
  const called = record.functions.find(({ name }) => name === body.name);
  if (called === undefined) throw new Failure('invalid_field', { field: 'name' });
  const given = body.arguments ?? {};
  const callId = services.ids.make('call');
  await recordAct(request, record.workspaceId, {
    action: 'test',
    objectType: 'tool',
    objectId: record.id,
    changes: changesOf(null, { function: called.name, call_id: callId }),
  });
  const startedAt = services.clock.monotonic();
  const result = await services.tools.test(record, called, given, callId);
  return {
    status: 200,
    json: {
      object: 'tool_test',
      call_id: callId,
      status: result.status,
      error: result.status === 'failed' ? result.error : null,
      reason:
        result.status === 'failed' && result.error === 'arguments'
          ? parsedArgumentsError(called.parameters, given)
          : null,
      output: result.status === 'completed' ? cutOutput(result.output, limits.toolOutputCharactersMax) : null,
      milliseconds: Math.round(services.clock.monotonic() - startedAt),
    },
  };
}
