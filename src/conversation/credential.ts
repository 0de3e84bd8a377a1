/** The credential that an assistant's model or voice is called with. */
import type { Services } from '../services.ts';
import type { Credential, ModelSettings, VoiceSettings } from '../store.ts';

/** The opened credential; null if none is named, it is not there, of another kind or provider, or cannot be decrypted. */
export async function openCredential(
  workspaceId: string,
  kind: Credential['kind'],
  { credentialId, provider }: ModelSettings | VoiceSettings,
  { host, vault }: Services,
): Promise<{ baseUrl: string | null; apiKey: string } | null> {
  const found = credentialId === null ? null : await host.credentials.of(workspaceId, credentialId);
  if (found === null || found.kind !== kind || found.provider !== provider) return null;
  const apiKey = vault.open(found);
  return apiKey === null ? null : { baseUrl: found.baseUrl, apiKey };
}
