/** Parts of its process that a command uses: `process` itself, or in a test an object of the same shape. */

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Output extends NodeJS.WritableStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

export interface Input extends NodeJS.ReadableStream {
  readonly isTTY?: boolean;
}

type Signal = 'SIGINT' | 'SIGTERM';

export interface Io {
  readonly env: Environment;
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  /** The exit code when the command is done; 0 if unset. */
  exitCode?: number | string | undefined;
  /** Ends the process at once. */
  exit(code: number): void;
  on(signal: Signal, listener: () => void): unknown;
  off(signal: Signal, listener: () => void): unknown;
}
