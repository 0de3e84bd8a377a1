/**
 * Fields that a provider put on a call of a tool and on its round, which it gets back with them (contract 13). They
 * mean nothing here.
 */
import type { Json } from './json.ts';

export interface OpaqueFields {
  /** The provider, as a digest of its dialect and its endpoint: no other gets them. */
  readonly origin: string;
  /** The id that the provider gave the call. */
  readonly id?: string;
  /** Fields of the call. */
  readonly call?: Json;
  /** Fields of the round; on its first call alone. */
  readonly round?: Json;
}
