/** A setting that cannot be used: one line that names the variable; the process ends with code 2. */
export class SettingError extends Error {}
