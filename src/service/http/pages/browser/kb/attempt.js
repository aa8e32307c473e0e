import { byId, element, showStatus } from "../page/elements.js";
import { describeFault, isLoggedOut, useToken } from "../page/service.js";
import { forgetLogin } from "./kept-login.js";
import { state } from "./state.js";

const PARTS = ["login", "bases", "base", "file"];

/** Shows one part of the page. @param {"login" | "bases" | "base" | "file"} part */
export function show(part) {
  for (const each of PARTS) byId(each).hidden = each !== part;
  byId("who").hidden = part === "login";
}

/** @param {string} text - why */
export function logOut(text) {
  useToken("");
  forgetLogin();
  clearTimeout(state.timer);
  state.view += 1;
  show("login");
  showStatus(text);
  byId("username").focus();
}

/** Does something, and shows what went wrong. @param {() => Promise<void>} work */
export async function attempt(work) {
  try {
    await work();
  } catch (fault) {
    if (isLoggedOut(fault)) return logOut("Log in again.");
    showStatus(describeFault(fault), { isFault: true });
  }
}

/**
 * @param {string} text
 * @param {string} label - for screen readers, who do not see what it stands beside
 * @param {() => Promise<void>} work
 */
export function button(text, label, work) {
  const made = element("button", text, "small second");
  made.type = "button";
  made.setAttribute("aria-label", label);
  made.addEventListener("click", () => void attempt(work));
  return made;
}

/** Shows entries in place of those before, and leaves the focus where it was: an entry's focusable parts have a `data-key`. */
export const replaceEntries = (/** @type {HTMLElement} */ list, /** @type {readonly HTMLElement[]} */ entries) => {
  const focused = list.contains(document.activeElement) ? document.activeElement : null;
  const key = focused instanceof HTMLElement ? focused.dataset["key"] : undefined;
  list.replaceChildren(...entries);
  if (key === undefined) return;
  const again = list.querySelector('[data-key="' + CSS.escape(key) + '"]');
  if (again instanceof HTMLElement) again.focus();
};
