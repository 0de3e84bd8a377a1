/** The credential that an assistant's model or voice is called with. */
import { promptly } from '../base/promptly.ts';
import type { Services } from '../conversation/services.ts';
import type { Credential, ModelSettings, VoiceSettings } from '../store/store.ts';

/**
 * The opened credential; null if none is named, it is not there, of another kind or provider, or cannot be decrypted.
 */
export const openCredential = (
  workspaceId: string,
  kind: Credential['kind'],
  { credentialId, provider }: ModelSettings | VoiceSettings,
  { host, vault }: Services,
): Opened | Promise<Opened> =>
  promptly(credentialId === null ? null : host.credentials.of(workspaceId, credentialId), (found) => {
    if (found === null || found.kind !== kind || found.provider !== provider) return null;
    const apiKey = vault.open(found);
    return apiKey === null ? null : { baseUrl: found.baseUrl, apiKey };
  });

type Opened = { readonly baseUrl: string | null; readonly apiKey: string } | null;
