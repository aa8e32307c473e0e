/** @typedef {import("../../../../protocol/knowledge-queries.ts").ExternalList["databases"][number]} ReadableBase */

/** How many files are listed at first, and more at each "Show more files". */
export const FILES = 50;

/** What the page shows. */
export const state = {
  role: "",
  /** The open knowledge base. @type {ReadableBase | undefined} */
  base: undefined,
  shownFiles: FILES,
  /** Counts up with each place a person goes to: an answer that comes after that is not shown. */
  view: 0,
  /** The next look at files and tasks. @type {number | undefined} */
  timer: undefined,
};

/** The open knowledge base. @throws where none is open */
export function openBase() {
  if (state.base === undefined) throw new Error("no knowledge base is open");
  return state.base;
}

/** @param {string} end */
export const external = (end) => "/api/knowledge/databases/external/" + encodeURIComponent(openBase().kb_id) + end;

/** @param {string} end */
export const managed = (end) => "/api/knowledge/databases/" + encodeURIComponent(openBase().kb_id) + end;

/** The address of a knowledge base, a file, or lines of it. @param {...string} parts */
export const link = (...parts) => "#/" + parts.map(encodeURIComponent).join("/");

/** Who may make knowledge bases and upload files. */
export const isAdmin = () => state.role === "admin" || state.role === "superadmin";
