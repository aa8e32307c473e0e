/**
 * How many tabs read events as streams at once. A browser has six connections to a host over HTTP/1.1, for all its tabs
 * together, and a stream keeps one: seven tabs with one each could not even be loaded.
 */
const MOST = 3;
const RENEW_MS = 2_000;
/** One that was not renewed for so long is of a tab that is no more, or that its browser has stopped. */
const LAPSED_MS = 10_000;
const PREFIX = "turnd.stream.";

/** One of the few places that the tabs of a browser share. */
export interface StreamPlace {
  release(): void;
}

/**
 * Takes a place for a stream.
 *
 * The places are kept in what all tabs of this origin share: the browser's own locks are only there on pages of HTTPS and
 * of loopback. Two tabs that take one at the same moment may be one too many, which does no harm.
 *
 * @returns undefined where other tabs have them all
 */
export function claimStreamPlace(): StreamPlace | undefined {
  if (countOthers() >= MOST) return undefined;
  const key = `${PREFIX}${newName()}`;
  const renew = (): void => localStorage.setItem(key, String(Date.now()));
  const release = (): void => {
    clearInterval(timer);
    localStorage.removeItem(key);
    window.removeEventListener("pagehide", release);
  };
  const timer = setInterval(renew, RENEW_MS);
  window.addEventListener("pagehide", release);
  renew();
  return { release };
}

function countOthers(): number {
  const now = Date.now();
  let count = 0;
  for (const key of Object.keys(localStorage)) {
    if (!key.startsWith(PREFIX)) continue;
    const ageMs = now - Number(localStorage.getItem(key));
    // A clock that was set back makes one look as if it came from the future.
    if (Math.abs(ageMs) <= LAPSED_MS) count += 1;
    else localStorage.removeItem(key);
  }
  return count;
}

function newName(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16)).join("");
}
