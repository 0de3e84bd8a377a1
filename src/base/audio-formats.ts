/**
 * The names of the formats of audio, in and out: apart from their readers and writers, which the shapes on the wire do
 * not need.
 */
export const speechFormats = ['wav', 'pcm', 'mp3', 'opus'] as const;
export type SpeechFormat = (typeof speechFormats)[number];

export const encodings = ['pcm_s16le', 'pcm_mulaw', 'pcm_alaw', 'opus'] as const;
export type Encoding = (typeof encodings)[number];
