import { byId, element, inputById } from "../page/elements.js";
import { call } from "../page/service.js";
import { external, link, openBase, state } from "./state.js";

/** @typedef {import("../../../../protocol/knowledge-queries.ts").Found} Found */

/** Places of one call, and lines of each. */
const PLACES = 20;
const LINES = 3;

/** What was looked for, and where the next call goes on. */
const asked = { fileId: "", pattern: "", isRegex: false, afterLine: 0 };

/** Readies the box for a file: what was found in another is gone. @param {string} fileId */
export function findIn(fileId) {
  if (asked.fileId === fileId) return;
  Object.assign(asked, { fileId, pattern: "", isRegex: false, afterLine: 0 });
  inputById("pattern").value = "";
  byId("matches").hidden = true;
}

/** Finds what the box holds in the open file, and lists the places. */
export async function findInFile() {
  const pattern = inputById("pattern").value;
  if (pattern === "") return;
  Object.assign(asked, { pattern, isRegex: inputById("is-regex").checked, afterLine: 0 });
  const found = await find();
  if (found === undefined) return;
  byId("match-list").replaceChildren(...found.windows.map(showPlace));
  const { total_matches: matches } = found;
  byId("matches-title").textContent = matches === 1 ? "1 matching line" : (matches || "No") + " matching lines";
  byId("matches").hidden = false;
  byId("matches-title").focus();
}

/** The places behind those that are listed. */
export async function findMore() {
  const found = await find();
  if (found !== undefined) byId("match-list").append(...found.windows.map(showPlace));
}

/** @returns undefined where the person has gone on */
async function find() {
  const mine = state.view;
  const { fileId, pattern, isRegex, afterLine } = asked;
  /** @type {Found} */
  const found = await call("POST", external("/files/" + encodeURIComponent(fileId) + "/find"), {
    patterns: [pattern],
    use_regex: isRegex,
    max_windows: PLACES,
    window_size: LINES,
    after_line: afterLine,
  });
  if (mine !== state.view) return undefined;
  asked.afterLine = found.next_after_line ?? 0;
  byId("more-matches").hidden = !found.has_more;
  return found;
}

/** @param {Found["windows"][number]} window */
function showPlace({ start_line: start, matched_lines: lines, content }) {
  const first = lines[0] ?? start;
  const last = lines.at(-1) ?? first;
  const place = element("a", first === last ? "Line " + first : "Lines " + first + " to " + last);
  place.href = link(openBase().kb_id, asked.fileId, first + "-" + last);
  const item = element("li");
  item.append(place, element("pre", content));
  return item;
}
