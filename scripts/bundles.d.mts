export interface Bundle {
  readonly file: string;
  readonly script: string;
  readonly sources: readonly string[];
}
export declare const TURND: Bundle;
export declare const BUNDLES: readonly Bundle[];
export declare function isStale(bundle: Pick<Bundle, "file" | "sources">, root?: string): boolean;
