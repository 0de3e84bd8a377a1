/** The rate of the audio that is recognised: 16-bit PCM, mono. */

/** Hertz. */
export const recognitionRate = 16_000;
export const samplesPerMs = recognitionRate / 1000;
