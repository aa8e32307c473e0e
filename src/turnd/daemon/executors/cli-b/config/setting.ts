/** A setting, by its dotted path. */
export interface Setting {
  readonly path: string;
  readonly value: boolean | string | readonly string[];
}

/** A setting that not every version takes. */
export interface VersionedSetting extends Setting {
  /** Set only where the binary lists the feature: the others refuse it under `--strict-config`. */
  readonly isOptional?: true | undefined;
  /** Path that takes the setting's place where the binary calls the feature deprecated. */
  readonly successor?: string | undefined;
}
