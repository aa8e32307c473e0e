/** A variable, or several of one form, that tells programs about certificates, proxies or language. */
export interface NetworkVariable {
  /** As people write it; `*` stands for any end. */
  readonly name: string;
  readonly about: "certificates" | "proxies" | "language";
  readonly isPassed: boolean;
  /** Who reads it, or why it is kept from the CLIs. */
  readonly meaning: string;
}

const REFUSED_PROXY = "of other programs; it often holds a login";

/**
 * Every variable about certificates, proxies and language that one of the CLIs reads or documents, and whether turnd passes
 * it on. Source: the strings of both binaries. What is said of the CLIs is measured: docs/contracts, and of certificates
 * test/e2e/certificates.test.ts; what is said to be passed on to tools is that, and no more.
 */
export const NETWORK_VARIABLES: readonly NetworkVariable[] = [
  ...passed("certificates", {
    SSL_CERT_FILE:
      "file of authorities in PEM: CLI A, CLI B in place of the system's, turnd's own check of CLI B's provider",
    SSL_CERT_DIR: "directories of authorities, as OpenSSL names them: as SSL_CERT_FILE",
    CODEX_CA_CERTIFICATE:
      "file of authorities in PEM: CLI B, where it wins over SSL_CERT_FILE, and turnd's own check of its provider",
    NODE_EXTRA_CA_CERTS: "file of authorities in PEM: CLI A; CLI B does not read it; passed on to tools",
    NODE_USE_SYSTEM_CA: "passed on to the CLIs and tools",
    REQUESTS_CA_BUNDLE: "passed on to tools; CLI B does not read it",
    CURL_CA_BUNDLE: "passed on to tools; CLI B does not read it",
    GIT_SSL_CAINFO: "passed on to tools",
    PIP_CERT: "passed on to tools",
    AWS_CA_BUNDLE: "passed on to tools",
  }),
  ...refused("certificates", {
    NODE_TLS_REJECT_UNAUTHORIZED:
      "`0` would hand keys to whoever answers, and turnd does not obey it either; name the authority instead",
    GIT_SSL_NO_VERIFY: "would switch the check of certificates off; name the authority instead",
    SSLKEYLOGFILE: "would write the keys of connections into a file",
    OPENSSL_CONF: "names a configuration that may load code",
    OPENSSL_MODULES: "names a configuration that may load code",
    BUN_CONFIG_VERBOSE_FETCH: "would print every request of CLI A, its key too",
  }),
  ...passed("proxies", {
    HTTP_PROXY: "of http addresses: both CLIs, turnd's own check; `http_proxy` too",
    HTTPS_PROXY: "of https addresses: both CLIs, turnd's own check; `https_proxy` too",
    ALL_PROXY:
      "CLI B, where none is set for the protocol, and turnd's own check; `all_proxy` too; CLI A does not read it",
    NO_PROXY: "hosts that are asked without a proxy: both CLIs, turnd's own check; `no_proxy` too",
    NODE_USE_ENV_PROXY: "passed on to tools",
  }),
  ...refused("proxies", {
    "CODEX_NETWORK_*": "what CLI B's own proxy tells its children: from outside it would be believed",
    CODEX_TOOL_CALL_ATTRIBUTION_PROXY: "what CLI B's own proxy tells its children: from outside it would be believed",
    WS_PROXY: REFUSED_PROXY,
    WSS_PROXY: REFUSED_PROXY,
    FTP_PROXY: REFUSED_PROXY,
    PIP_PROXY: REFUSED_PROXY,
    YARN_HTTP_PROXY: REFUSED_PROXY,
    YARN_HTTPS_PROXY: REFUSED_PROXY,
    YARN_NO_PROXY: REFUSED_PROXY,
    BUNDLE_HTTP_PROXY: REFUSED_PROXY,
    BUNDLE_HTTPS_PROXY: REFUSED_PROXY,
    BUNDLE_NO_PROXY: REFUSED_PROXY,
    DOCKER_HTTP_PROXY: REFUSED_PROXY,
    DOCKER_HTTPS_PROXY: REFUSED_PROXY,
  }),
  ...passed("language", {
    LANG: "language and encoding of everything that is printed",
    LANGUAGE: "languages of messages, by preference; passed on to tools",
    "LC_*": "the same for one kind, such as `LC_ALL`",
    TZ: "time zone",
  }),
];

/** Without a word about any of the variables above. */
const OTHERS = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR"];
const BOTH_CASES = /^(?:HTTPS?|ALL|NO)_PROXY$/;

const PASSED = toPattern([...OTHERS, ...namesWhere(true)]);
const REFUSED = toPattern(namesWhere(false));

/** Whether the CLIs, and people's shells, get a variable of turnd's environment without its being named. */
export function isAlwaysPassed(name: string): boolean {
  return PASSED.test(name);
}

/**
 * Says of every variable that is set and kept from the CLIs why it is. No value is quoted.
 *
 * @param passedByName - what `TURND_PASS_ENV` names: the operator has decided then
 */
export function describeRefusedVariables(
  env: Readonly<Record<string, string | undefined>>,
  passedByName: ReadonlySet<string>,
): string[] {
  const set = Object.keys(env).filter((name) => env[name] !== undefined && env[name] !== "");
  return set
    .filter((name) => REFUSED.test(name) && !passedByName.has(name))
    .toSorted()
    .map((name) => {
      const { meaning } = NETWORK_VARIABLES.find((one) => toPattern([one.name]).test(name)) ?? { meaning: "" };
      return `${name} is not passed to the CLIs: ${meaning}; TURND_PASS_ENV passes it all the same`;
    });
}

function passed(about: NetworkVariable["about"], meanings: Readonly<Record<string, string>>): NetworkVariable[] {
  return Object.entries(meanings).map(([name, meaning]) => ({ name, about, isPassed: true, meaning }));
}

function refused(about: NetworkVariable["about"], meanings: Readonly<Record<string, string>>): NetworkVariable[] {
  return Object.entries(meanings).map(([name, meaning]) => ({ name, about, isPassed: false, meaning }));
}

function namesWhere(isPassed: boolean): string[] {
  return NETWORK_VARIABLES.filter((variable) => variable.isPassed === isPassed).map(({ name }) => name);
}

function toPattern(names: readonly string[]): RegExp {
  const all = names.flatMap((name) => (BOTH_CASES.test(name) ? [name, name.toLowerCase()] : [name]));
  return new RegExp(`^(?:${all.map((name) => name.replace("*", "\\w+")).join("|")})$`);
}
