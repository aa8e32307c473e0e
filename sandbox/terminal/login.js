// The login of this page's reader, which is that of the inspector: a cookie that no script can read, and a key. The token
// itself is sent once and kept nowhere.

/** The inspector's key in the storage: behind a front, both pages are of one origin. */
const KEY_ITEM = "turnd.session-key";
const HAND_OVER = /^#login=([\w-]+)$/;

/** The session's key, which proves the login together with the cookie. */
export function loginHeaders() {
  const key = localStorage.getItem(KEY_ITEM);
  return key === null ? {} : { "x-turnd-session-key": key };
}

/**
 * Logs in by what another page of turnd has put into the address, which then no longer shows it. It is good once: where it
 * is not good any more, the page asks for the token.
 */
export async function redeemHandOver() {
  const ticket = HAND_OVER.exec(location.hash)?.[1];
  if (ticket === undefined) return;
  history.replaceState(null, "", location.pathname + location.search);
  await post({ ticket }).catch(() => undefined);
}

/**
 * Logs in by the token.
 *
 * @param {string} token
 * @returns {Promise<boolean>} false where it is not turnd's
 * @throws {Error} where turnd does not answer
 */
export function logIn(token) {
  return post({ token });
}

/** Ends the login here and in turnd, and with it the inspector's. */
export async function logOut() {
  await fetch("/terminal/session", { method: "DELETE", headers: loginHeaders() });
  localStorage.removeItem(KEY_ITEM);
}

/** Whether there is a login that can be ended. */
export async function isLoggedIn() {
  const answer = await fetch("/terminal/session", { headers: loginHeaders(), cache: "no-store" });
  return answer.ok && (await answer.json()).login === "done";
}

async function post(body) {
  const answer = await fetch("/terminal/session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (answer.status === 401) return false;
  if (!answer.ok) throw new Error(`turnd answered ${answer.status}`);
  localStorage.setItem(KEY_ITEM, (await answer.json()).key);
  return true;
}
