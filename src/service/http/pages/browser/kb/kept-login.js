/**
 * The login of this tab, so that it survives a reload: in `sessionStorage`, which only programs of this origin read, no other
 * tab has, and the end of the tab removes. The policy of the page lets no program run but the service's own.
 */
const KEY = "svc.token";

/** @param {string} token */
export function keepLogin(token) {
  withStorage((storage) => storage.setItem(KEY, token));
}

/** @returns the token; empty where there is none */
export function keptLogin() {
  return withStorage((storage) => storage.getItem(KEY)) ?? "";
}

export function forgetLogin() {
  withStorage((storage) => storage.removeItem(KEY));
}

/**
 * @template Result
 * @param {(storage: Storage) => Result} use
 * @returns {Result | undefined} undefined where the browser allows no storage: then a reload logs out
 */
function withStorage(use) {
  try {
    return use(sessionStorage);
  } catch {
    return undefined;
  }
}
