/** An assistant's voice, ready to be called: its provider with its settings and the opened credential. */
import { Failure, type ErrorName } from '../base/errors.ts';
import type { AssistantActor } from '../host/assistants.ts';
import type { Services } from './services.ts';
import type { Assistant, Cause, VoiceSettings } from '../store/store.ts';
import { StoreUnavailable } from '../store/store.ts';
import type { ListenerOptions } from '../providers/voice/listener.ts';
import { VoiceProcessFailed } from '../providers/voice/processes.ts';
import { VoiceFailed, type VoiceAccess, type VoiceChoice, type VoiceProvider } from '../providers/voice.ts';
import { openCredential } from '../assistant/credential.ts';
import { voiceCaller, type Principal } from './principal.ts';

/** The settings of an assistant whose voice is not configured (contract 8). */
export const defaultVoice: VoiceSettings = {
  provider: 'embedded',
  name: null,
  transcriptionName: null,
  voice: null,
  credentialId: null,
};

export interface AssistantVoice {
  readonly settings: VoiceSettings;
  /** Null if this server does not offer the voice. */
  readonly provider: VoiceProvider | null;
}

export function voiceOf({ voice: own }: Pick<Assistant, 'voice'>, { voice }: Services): AssistantVoice {
  const settings = own ?? defaultVoice;
  return { settings, provider: voice.providers.get(settings.provider) ?? null };
}

/** The refusal of an assistant that does not speak, or not now; null if it speaks. A draft speaks in its trials. */
export const speechRefusal = (
  { channel }: Pick<Principal, 'channel'>,
  assistant: AssistantActor,
  cause: Cause | undefined,
  { host: { assistants } }: Services,
): ErrorName | null =>
  channel === 'console' ? assistants.trialVoiceRefusal(assistant, cause) : assistants.voiceRefusal(assistant, cause);

/** Throws the 409 of an assistant that does not speak, or not now. */
export function checkSpeaks(
  principal: Pick<Principal, 'channel'>,
  assistant: AssistantActor,
  cause: Cause,
  services: Services,
): void {
  const refusal = speechRefusal(principal, assistant, cause, services);
  if (refusal !== null) throw new Failure(refusal);
}

/** Seconds that a client waits whose socket was refused because the recognisers were busy. */
const retrySeconds = 5;

/** Throws 503 while the recognisers are too busy for another socket of the principal. */
export function checkRoom(principal: Principal, { voice, clock }: Services): void {
  if (voice.loadShedding.isFullFor(voiceCaller(principal, clock.now())))
    throw new Failure('service_unavailable', { seconds: retrySeconds });
}

/** The settings as a provider takes them. */
export const choiceOf = ({ name, transcriptionName = null, voice }: VoiceSettings): VoiceChoice => ({
  name,
  transcriptionName,
  voice,
});

export interface ReadyVoice {
  readonly provider: VoiceProvider;
  readonly settings: VoiceSettings;
  readonly access: VoiceAccess;
}

/**
 * Throws 503 `voice_unavailable` if the provider is not offered, or the credential that it needs is missing or cannot
 * be opened.
 */
export async function readyVoice(
  { record }: AssistantActor,
  { settings, provider }: AssistantVoice,
  services: Services,
): Promise<ReadyVoice> {
  if (provider === null || provider.available?.() === false) throw new Failure('voice_unavailable');
  if (!provider.needsCredential) return { provider, settings, access: { baseUrl: null, apiKey: null } };
  const access = await openCredential(record.workspaceId, 'voice', settings, services);
  if (access === null) throw new Failure('voice_unavailable');
  return { provider, settings, access };
}

/** Transcribes the utterances of one socket. */
export const transcriberOf =
  (
    { provider, settings, access }: ReadyVoice,
    caller: string,
    language: string | null,
  ): ListenerOptions['transcribe'] =>
  (samples, { number, draft }, urgency, signal) => {
    const { transcriptionName: name = null, name: speechName } = settings;
    const request = { caller, samples, index: number - 1, draft, name, speechName, language, urgency, access, signal };
    return provider.transcribe(request);
  };

/** Returns the failure that a client gets for a failure of the provider or of ours (contract 8). */
export function failureOfVoice(error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof VoiceFailed)
    return new Failure(error.reason === 'rate_limit' ? 'assistant_unavailable' : 'voice_unavailable', { cause: error });
  if (error instanceof VoiceProcessFailed) return new Failure('voice_unavailable', { cause: error });
  if (error instanceof StoreUnavailable) return new Failure('service_unavailable', { cause: error });
  return new Failure('api_error', { cause: error });
}
