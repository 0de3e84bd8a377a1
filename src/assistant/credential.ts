/** The credential of an assistant's model or voice. */
import type { Vault } from '../access/vault.ts';
import { thenSync } from '../base/then-sync.ts';
import type { Credentials } from '../host/credentials.ts';
import type { Credential, ModelSettings, VoiceSettings } from '../store/store.ts';

/**
 * Opens the credential that the settings name; null if they name none, or if it is gone, is of another kind or
 * provider, or cannot be decrypted.
 */
export const openCredential = (
  workspaceId: string,
  kind: Credential['kind'],
  { credentialId, provider }: Pick<ModelSettings | VoiceSettings, 'credentialId' | 'provider'>,
  { host, vault }: { readonly host: { readonly credentials: Credentials }; readonly vault: Vault },
): OpenedCredential | Promise<OpenedCredential> =>
  thenSync(findCredential(workspaceId, kind, { credentialId, provider }, host), (credential) => {
    const apiKey = credential && vault.open(credential);
    return apiKey === null ? null : { baseUrl: credential!.baseUrl, apiKey };
  });

/** Finds the credential that the settings name, still sealed; null unless its kind and provider match. */
export const findCredential = (
  workspaceId: string,
  kind: Credential['kind'],
  { credentialId, provider }: Pick<ModelSettings | VoiceSettings, 'credentialId' | 'provider'>,
  { credentials }: { readonly credentials: Credentials },
): Credential | null | Promise<Credential | null> =>
  thenSync(credentialId === null ? null : credentials.of(workspaceId, credentialId), (credential) =>
    credential?.kind === kind && credential.provider === provider ? credential : null,
  );

type OpenedCredential = { readonly baseUrl: string | null; readonly apiKey: string } | null;
