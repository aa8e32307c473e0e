/** The options of every soak. */
export interface SoakOptions {
  readonly directory: string;
  readonly seed: number;
  readonly seconds: number;
  /** Of a soak that counts turns instead of seconds. */
  readonly turns?: number;
  /** Ends it early, with its checks. */
  readonly signal: AbortSignal;
}
