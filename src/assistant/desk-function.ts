/** The function with which a model asks for a person, while the assistant's desk is open (contract 23). */
import { limits } from '../base/limits.ts';
import type { OfferedFunction } from '../providers/tool.ts';

export const askForPersonName = 'ask_for_person';

export const askForPerson: OfferedFunction = {
  toolId: null,
  kind: 'desk',
  name: askForPersonName,
  description:
    'Asks for a person of the team to take this conversation over. Use it if the user wants to talk to a person, or needs help that you cannot give. Tell the user that a person has been asked for; until somebody comes, you continue the conversation.',
  parameters: {
    type: 'object',
    properties: {
      reason: {
        type: 'string',
        maxLength: limits.deskReasonCharactersMax,
        description: 'Why a person is needed, in one sentence for the team.',
      },
    },
    required: ['reason'],
    additionalProperties: false,
  },
  approval: 'never',
  show: 'name',
};

/** The result of the call, for the model. */
export const askedText = 'A person has been asked for. Nobody has joined yet.';
