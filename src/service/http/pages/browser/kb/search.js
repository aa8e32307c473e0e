import { byId, element, inputById, showStatus } from "../page/elements.js";
import { call } from "../page/service.js";
import { external, link, openBase, state } from "./state.js";

/** @typedef {import("../../../../protocol/knowledge-queries.ts").Retrieved} Retrieved */

/** Asks the open knowledge base, and shows the passages. */
export async function search() {
  const query = inputById("query").value.trim();
  if (query === "") return;
  const mine = state.view;
  showStatus("Searching…");
  /** @type {Retrieved} */
  const { results, search_mode: mode, warnings } = await call("POST", external("/retrieve"), { query });
  if (mine !== state.view) return;
  showStatus("");
  const count = results.length === 1 ? "1 passage" : results.length + " passages";
  const notes = [mode, ...warnings].map((word) => word.replaceAll("_", " ")).join(", ");
  byId("hits-title").textContent = (results.length === 0 ? "No passage" : count) + " (" + notes + ")";
  byId("hit-list").replaceChildren(...results.map(showHit));
  byId("hits").hidden = false;
  byId("hits-title").focus();
}

/** @param {Retrieved["results"][number]} hit */
function showHit({ file_id: fileId, content, score, metadata }) {
  const { heading, page } = metadata;
  const about = [...(heading === "" ? [] : [heading]), ...(page === null ? [] : ["page " + page]), score.toFixed(2)];
  const item = element("li");
  item.append(showPlace(fileId, metadata), element("div", about.join(" · "), "about"), element("pre", content));
  return item;
}

/**
 * Where a passage is: lines of a file here, or a page of another service.
 *
 * @param {string} fileId
 * @param {Retrieved["results"][number]["metadata"]} metadata
 */
function showPlace(fileId, { source, start_line: first, end_line: last, source_url: url }) {
  const { kb_id: kbId, supports_documents: isOpenable } = openBase();
  if (isOpenable) {
    const lines = first + "-" + last;
    const place = element("a", source + ":" + lines);
    place.href = link(kbId, fileId, lines);
    return place;
  }
  if (url === null || !/^https?:/.test(url)) return element("span", source);
  const place = element("a", source);
  place.href = url;
  place.rel = "noreferrer noopener";
  return place;
}
