/** What a machine's transition runs in where it is a function of state and event: no actor lives, nothing is started, and what it emits is handed on. */
import { createEmptyActor, type AnyActorScope } from 'xstate';

export function scopeFor(emit: (outcome: { type: string }) => void): AnyActorScope {
  const self = createEmptyActor();
  return {
    self,
    id: self.id,
    sessionId: self.sessionId,
    system: self.system,
    logger: () => {},
    stopChild: () => {},
    defer: (call) => call(),
    emit,
    actionExecutor: (action) => action.exec?.(action.info, action.params),
  };
}
