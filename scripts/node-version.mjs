// Plain JavaScript that runs on Node 20, as scripts/setup.mjs does.

/** What runs TypeScript as it is; bin/turnd asks for the same. */
const OLDEST = [22, 18];

/** Whether a Node runs turnd's source. */
export function isNewEnough(version = process.versions.node) {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
}

/** The message in place of a SyntaxError or ERR_UNKNOWN_FILE_EXTENSION. */
export function describeTooOld(remedy, version = process.versions.node) {
  return `turnd: needs Node ${OLDEST.join(".")} or newer, and this is ${version}: ${remedy}`;
}
