/** What the command reads of the console's API (contract 6 and 9). */

export interface List<T> {
  readonly data: readonly T[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

export interface WorkspaceRecord {
  readonly id: string;
  readonly name: string;
  readonly retention_days: number;
  readonly turns_in_flight_max: number;
  readonly created_at: number;
}

export interface VisitorFieldRecord {
  readonly name: string;
  readonly label: string;
  readonly type: 'text' | 'email' | 'number' | 'boolean';
  readonly required: boolean;
}

/** An assistant as the API shows it. */
export interface PublicAssistantRecord {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly status: 'draft' | 'published' | 'disabled';
  readonly greeting: string | null;
  readonly channels: { readonly voice: boolean; readonly link: boolean; readonly widget: boolean };
  readonly visitor_fields: readonly VisitorFieldRecord[];
  readonly max_call_seconds: number;
  readonly created_at: number;
  readonly updated_at: number;
}

/** An assistant as the console shows it. */
export interface AssistantRecord extends PublicAssistantRecord {
  readonly model: {
    readonly provider: string;
    readonly name: string;
    readonly credential_id: string | null;
    readonly system_prompt: string | null;
    readonly temperature: number | null;
    readonly output_tokens_max: number | null;
  };
}

export interface KeyRecord {
  readonly id: string;
  readonly name: string;
  readonly assistant_ids: readonly string[] | null;
  readonly expires_at: number | null;
  readonly limits: { readonly requests: number; readonly speech: number; readonly transcription_tokens: number };
  readonly status: string;
  readonly created_at: number;
  readonly revoked_at: number | null;
}

export interface CredentialRecord {
  readonly id: string;
  readonly kind: string;
  readonly provider: string;
  readonly base_url: string | null;
  readonly created_at: number;
  readonly updated_at: number;
}

export interface SessionRecord {
  readonly id: string;
  readonly assistant_id: string;
  readonly status: string;
  readonly active_turn_id: string | null;
  readonly channel: string;
  readonly visitor: Readonly<Record<string, string | number | boolean>>;
  readonly metadata: Readonly<Record<string, string>>;
  readonly created_at: number;
  readonly expires_at: number;
  readonly ended_at: number | null;
}

export interface MessageRecord {
  readonly role: string;
  readonly content: string;
  readonly status: string;
  readonly stop_reason: string | null;
  readonly error_code: string | null;
  readonly created_at: number;
}

export interface UsageCountsRecord {
  readonly sessions: number;
  readonly turns: number;
  readonly failed_turns: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly speech_characters: number;
  readonly transcription_seconds: number;
}

export interface UsageRecord {
  readonly start: number;
  readonly end: number;
  readonly bucket: 'day' | 'hour';
  readonly data: readonly (UsageCountsRecord & { readonly start: number })[];
  readonly totals: UsageCountsRecord;
}
