/** The call as its workers see it: its machine, its client and its time (contract 18). */
import type { CallContext, CallEvent } from '../../../machines/call.ts';
import type { Span } from '../../base/tracing.ts';
import type { CallMessage } from '../../wire/wire.ts';
import type { AssistantActor } from '../../host/assistants.ts';
import type { Session } from '../../store/store.ts';
import type { Principal } from '../principal.ts';
import type { Services } from '../services.ts';
import type { ReadyVoice } from '../voice-call.ts';
import type { CallSettings } from './settings.ts';

export interface CallPort {
  readonly id: string;
  readonly services: Services;
  readonly session: Session;
  readonly assistant: AssistantActor;
  readonly principal: Principal;
  readonly requestId: string;
  /** The span of the request that opened the call; null while traces are off. */
  readonly span: Span | null;
  readonly ready: ReadyVoice;
  readonly settings: CallSettings;
  /** The time of the call in milliseconds: setting the wall clock does not change it. */
  readonly now: number;
  /** State of the machine, once its outcomes are carried out. */
  readonly state: string;
  readonly context: CallContext;
  /** Whether the machine has closed the call. */
  readonly isClosed: boolean;
  /** Sends the machine an event. */
  send(event: CallEvent): void;
  /** Sends the client a message. */
  tell(message: CallMessage): void;
  /** Logs a fault of the program in a step of the call, whose turn has not begun. */
  broke(error: unknown): void;
}
