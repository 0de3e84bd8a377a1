/**
 * An assistant: a draft that is published, unpublished, disabled and enabled again (contract 9). Each of the console's
 * verbs leads to one state from every state (contract 9).
 */
import { assign, emit, setup } from 'xstate';
import { versionAfter, type MachineKind, type Migration } from './version.ts';
import { typesOf } from './types.ts';

/** Migrations from each earlier version to the next. */
const migrations: readonly Migration[] = [];
export const assistantVersion = versionAfter(migrations);

export interface AssistantContext {
  /** `channels.voice`: whether the assistant speaks and listens. */
  readonly voice: boolean;
}

export type AssistantEvent =
  | { type: 'publish' }
  | { type: 'unpublish' }
  | { type: 'disable' }
  | { type: 'enable' }
  | { type: 'configure'; voice: boolean }
  /** A session will be created, or a turn begun. */
  | { type: 'converse' }
  /** The same for a trial of the console, which tries a draft too. */
  | { type: 'rehearse' }
  /** Speech or a transcription is requested. */
  | { type: 'speak' };

export type AssistantOutcome =
  | { type: 'refused'; code: string }
  | { type: 'accepted' }
  | { type: 'unchanged' }
  | { type: 'configured' }
  | { type: 'moved'; status: 'draft' | 'published' | 'disabled' };

export const assistantMachine = setup({
  types: typesOf<AssistantContext, AssistantEvent, AssistantOutcome, { voice: boolean }>(),
  guards: { hasVoice: ({ context }) => context.voice },
  actions: {
    refuse: emit((_, { code }: { code: string }) => ({ type: 'refused' as const, code })),
    accept: emit({ type: 'accepted' }),
    unchanged: emit({ type: 'unchanged' }),
    moved: emit((_, { status }: { status: 'draft' | 'published' | 'disabled' }) => ({
      type: 'moved' as const,
      status,
    })),
    setVoice: assign(({ event }) => (event.type === 'configure' ? { voice: event.voice } : {})),
    configured: emit({ type: 'configured' }),
  },
}).createMachine({
  id: 'assistant',
  context: ({ input }) => ({ voice: input.voice }),
  initial: 'draft',
  on: { configure: { actions: ['setVoice', 'configured'] } },
  states: {
    draft: {
      description: 'Being written; answers in trials alone.',
      on: {
        publish: { target: 'published', actions: { type: 'moved', params: { status: 'published' } } },
        unpublish: { actions: 'unchanged' },
        disable: { target: 'disabled', actions: { type: 'moved', params: { status: 'disabled' } } },
        enable: { target: 'published', actions: { type: 'moved', params: { status: 'published' } } },
        converse: { actions: { type: 'refuse', params: { code: 'assistant_not_published' } } },
        rehearse: { actions: 'accept' },
        speak: { actions: { type: 'refuse', params: { code: 'assistant_not_published' } } },
      },
    },
    published: {
      description: 'Answers over the API.',
      on: {
        publish: { actions: 'unchanged' },
        unpublish: { target: 'draft', actions: { type: 'moved', params: { status: 'draft' } } },
        disable: { target: 'disabled', actions: { type: 'moved', params: { status: 'disabled' } } },
        enable: { actions: 'unchanged' },
        converse: { actions: 'accept' },
        rehearse: { actions: 'accept' },
        speak: [
          { guard: 'hasVoice', actions: 'accept' },
          { actions: { type: 'refuse', params: { code: 'voice_disabled' } } },
        ],
      },
    },
    disabled: {
      description: 'Switched off in the console; does not answer.',
      on: {
        publish: { target: 'published', actions: { type: 'moved', params: { status: 'published' } } },
        unpublish: { target: 'draft', actions: { type: 'moved', params: { status: 'draft' } } },
        disable: { actions: 'unchanged' },
        enable: { target: 'published', actions: { type: 'moved', params: { status: 'published' } } },
        converse: { actions: { type: 'refuse', params: { code: 'assistant_disabled' } } },
        rehearse: { actions: { type: 'refuse', params: { code: 'assistant_disabled' } } },
        speak: { actions: { type: 'refuse', params: { code: 'assistant_disabled' } } },
      },
    },
  },
});

export const assistantKind: MachineKind = {
  name: 'assistant',
  machine: assistantMachine,
  version: assistantVersion,
  migrations,
};
