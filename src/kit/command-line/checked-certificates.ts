type Environment = Readonly<Record<string, string | undefined>>;

/** What makes Node believe every certificate where it finds `0`, at each connection anew. */
const SWITCH = "NODE_TLS_REJECT_UNAUTHORIZED";

/**
 * Makes this process check the certificates of all its connections, whatever its environment says: a switch that was set
 * for another program would hand its keys to whoever answers.
 *
 * @param own - `process.env`, which loses the switch
 * @returns the environment as it was given, for warnings and for what is passed on by name
 */
export function keepCertificatesChecked(own: Record<string, string | undefined>): Environment {
  const given = { ...own };
  delete own[SWITCH];
  return given;
}

/** A warning where the switch was given and is not obeyed. */
export function describeIgnoredSwitch(env: Environment): string[] {
  if (env[SWITCH] !== "0") return [];
  return [`${SWITCH} is ignored: certificates are checked; NODE_EXTRA_CA_CERTS names an authority of your own`];
}
