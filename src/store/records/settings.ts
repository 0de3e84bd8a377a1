/** The stored settings of an assistant that its versions contain. The other settings are effective at once. */
import { literalTemplate } from '../../base/variables.ts';

export interface VisitorField {
  readonly name: string;
  readonly label: string;
  readonly type: 'text' | 'email' | 'number' | 'boolean';
  readonly required: boolean;
}

export interface ModelSettings {
  readonly provider: string;
  readonly name: string;
  readonly credentialId: string | null;
  /**
   * Maximum of the conversation that is sent to the model, in estimated tokens. Null or absent, as in rows of
   * versions that had no such setting: the default.
   */
  readonly historyTokensMax?: number | null;
  readonly systemPrompt: string | null;
  readonly temperature: number | null;
  readonly outputTokensMax: number | null;
  /** Whether the model's reasoning is shown. Absent in rows of versions that had no such setting: hidden. */
  readonly reasoning?: 'hidden' | 'shown';
  /** Models that are asked where it fails before any output. Absent in rows of versions without fallbacks. */
  readonly fallbacks?: readonly FallbackModel[];
}

export type FallbackModel = Pick<ModelSettings, 'provider' | 'name' | 'credentialId'>;

export interface VoiceSettings {
  readonly provider: string;
  /** The model that speaks. */
  readonly name: string | null;
  /** The model that transcribes. Absent in rows of versions that had no transcription. */
  readonly transcriptionName?: string | null;
  readonly voice: string | null;
  readonly credentialId: string | null;
}

export interface VersionedSettings {
  readonly greeting: string | null;
  readonly visitorFields: readonly VisitorField[];
  readonly maxCallSeconds: number;
  readonly model: ModelSettings;
  readonly voice: VoiceSettings | null;
  /**
   * The tools that its model is offered (contract 13), and the rounds of calls that a turn may have. Absent in rows of
   * versions without tools.
   */
  readonly toolIds?: readonly string[];
  readonly toolRoundsMax?: number;
  /**
   * Whether its prompt and greeting are templates (contract 19). Absent in rows of versions without variables, whose
   * texts are literal.
   */
  readonly hasVariables?: true;
}

/** The settings among an assistant's that its versions contain. */
export const versionedSettings = ({
  greeting,
  visitorFields,
  maxCallSeconds,
  model,
  voice,
  toolIds,
  toolRoundsMax,
  hasVariables,
}: VersionedSettings): VersionedSettings => ({
  greeting,
  visitorFields,
  maxCallSeconds,
  model,
  voice,
  ...(toolIds !== undefined && { toolIds }),
  ...(toolRoundsMax !== undefined && { toolRoundsMax }),
  ...(hasVariables !== undefined && { hasVariables }),
});

/** The record with other versioned settings. */
export function withSettings<Record extends VersionedSettings>(record: Record, settings: VersionedSettings): Record {
  const { toolIds: _, toolRoundsMax: __, hasVariables: ___, ...rest } = record;
  return { ...rest, ...settings } as Record;
}

/** The assistant's own prompt and greeting as templates: texts from before variables existed are literal. */
export function templatesOf({
  greeting,
  model,
  hasVariables,
}: Pick<VersionedSettings, 'greeting' | 'model' | 'hasVariables'>): {
  readonly prompt: string | null;
  readonly greeting: string | null;
} {
  const template = (text: string | null) => (hasVariables || text === null ? text : literalTemplate(text));
  return { prompt: template(model.systemPrompt), greeting: template(greeting) };
}
