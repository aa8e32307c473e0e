/** A POST request that costs no tokens, since it names no model and holds no prompt; and what its answer proves. */
export interface ProviderRequest {
  readonly url: string;
  /** The key among them: never shown. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly certificates: CertificateVariables;
  judge(answer: ProviderAnswer): ProviderVerdict;
}

/** The variables by which the CLI is told whose certificates to believe. */
export interface CertificateVariables {
  /** What they name counts in place of the system's certificates; one whose name ends in `_DIR` names directories. */
  readonly replacing: readonly string[];
  /** What they name counts besides. */
  readonly adding: readonly string[];
}

export interface ProviderAnswer {
  readonly status: number;
  /** Its head, when it is long. */
  readonly body: string;
}

/** `unproven` is no obstacle: the turn runs, and fails with its own cause if it has to. */
export interface ProviderVerdict {
  readonly api: "present" | "absent" | "unproven";
  /** One sentence, without anything from the headers or the body. */
  readonly message: string;
  /** What a person can do about it, to be read after "; ". */
  readonly remedy?: string;
}
