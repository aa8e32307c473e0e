/**
 * The element of a page with this id.
 *
 * @param {string} id
 * @throws when the page has none
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error("the page has no element " + id);
  return found;
}

/**
 * An element of a kind of its own, for its properties: `typedById("username", HTMLInputElement).value`.
 *
 * @template {HTMLElement} Kind
 * @param {string} id
 * @param {new () => Kind} kind
 */
export function typedById(id, kind) {
  const found = byId(id);
  if (!(found instanceof kind)) throw new Error("the element " + id + " is no " + kind.name);
  return found;
}

/** @param {string} id */
export const inputById = (id) => typedById(id, HTMLInputElement);

/**
 * A new element. Its text is text, whatever it holds: nothing of an answer becomes markup.
 *
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {string} [text]
 * @param {string} [className]
 */
export function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className !== undefined) made.className = className;
  return made;
}

/**
 * Shows a line at the top of the page, which screen readers read out; an empty one removes it.
 *
 * @param {string} text
 * @param {{ isFault?: boolean }} [how]
 */
export function showStatus(text, { isFault = false } = {}) {
  byId("status").textContent = text;
  byId("status").classList.toggle("fault", isFault);
}
