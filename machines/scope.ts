/**
 * The scope in which a machine's transition runs as a function of state and event: there is no live actor, nothing is
 * started, and emitted events are handed on.
 */
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
