import { byId, element, inputById, showStatus } from "../page/elements.js";
import { call } from "../page/service.js";
import { button, replaceEntries } from "./attempt.js";
import { external, link, managed, openBase, state } from "./state.js";

/**
 * @typedef {import("../../../../protocol/knowledge-files.ts").KnowledgeFile} ManagedFile
 * @typedef {import("../../../../protocol/knowledge-queries.ts").ExternalFiles["files"][number]} ReadFile
 * @typedef {{ files: readonly (ManagedFile | ReadFile)[], total: number }} FileList
 */

const BUSY = new Set(["parsing", "indexing"]);
const FAILED = new Set(["error_parsing", "error_indexing"]);
const OPENABLE = new Set(["parsed", "indexing", "indexed", "error_indexing"]);
/** The service lists no more at once. */
export const MOST_FILES = 500;

/**
 * Shows the files whose name contains the filter's text.
 *
 * @param {number} mine - the view they are for
 * @param {() => Promise<void>} refresh - after a change to one
 * @returns whether something is at work on one
 */
export async function showFiles(mine, refresh) {
  const base = openBase();
  if (!base.supports_documents) return false;
  const name = inputById("filter").value.trim();
  const page = name === "" ? "" : "&query=" + encodeURIComponent(name);
  // Those who manage see what is wrong with a file; a reader sees its state.
  const path = base.can_manage
    ? managed("/documents?skip=0&limit=" + state.shownFiles + page)
    : external("/files?limit=" + state.shownFiles + page);
  /** @type {FileList} */
  const { files, total } = await call("GET", path);
  if (mine !== state.view) return false;
  byId("file-count").textContent = total === 1 ? "1 file" : total + " files";
  byId("more-files").hidden = files.length >= total || state.shownFiles >= MOST_FILES;
  replaceEntries(
    byId("file-list"),
    files.map((file) => showFile(file, refresh)),
  );
  return files.some(({ status }) => BUSY.has(status));
}

/**
 * @param {ManagedFile | ReadFile} file
 * @param {() => Promise<void>} refresh
 */
function showFile(file, refresh) {
  const { file_id: id, filename, source_path: path, status } = file;
  const item = element("li");
  const name = showName(id, path ?? filename, OPENABLE.has(status));
  item.append(name, " ", element("span", status.replace("_", " "), FAILED.has(status) ? "state fault" : "state"));
  item.append(element("p", listFacts(file).join(" · "), "about"));
  if ("error" in file && file.error !== null)
    item.append(element("p", file.error.code + ": " + file.error.message, "about"));
  if (openBase().can_manage) item.append(showActions(file, refresh));
  return item;
}

/**
 * @param {string} fileId
 * @param {string} name
 * @param {boolean} isOpenable
 */
function showName(fileId, name, isOpenable) {
  if (!isOpenable) return element("span", name);
  const shown = element("a", name);
  shown.href = link(openBase().kb_id, fileId);
  shown.dataset["key"] = "open " + fileId;
  return shown;
}

/** @param {ManagedFile | ReadFile} file */
function listFacts(file) {
  if ("file_size" in file) return [describeSize(file.file_size)];
  const { size, lines, pages, chunk_count: passages } = file;
  /** @type {[number | null, string][]} */
  const counts = [
    [lines, "line"],
    [pages, "page"],
    [passages, "passage"],
  ];
  return [
    describeSize(size),
    ...counts.flatMap(([count, word]) => (count ? [count + " " + word + (count === 1 ? "" : "s")] : [])),
  ];
}

/** @param {number} bytes */
function describeSize(bytes) {
  if (bytes < 1024) return bytes + " B";
  return bytes < 1048576 ? Math.round(bytes / 1024) + " KB" : (bytes / 1048576).toFixed(1) + " MB";
}

/**
 * @param {ManagedFile | ReadFile} file
 * @param {() => Promise<void>} refresh
 */
function showActions(file, refresh) {
  const { file_id: id, filename, status } = file;
  const actions = element("p", undefined, "actions");
  if (BUSY.has(status)) return actions;
  if (status !== "indexed") {
    const text = FAILED.has(status) ? "Try again" : "Index";
    const again = button(text, "Index " + filename, async () => {
      await takeOn(file);
      await refresh();
    });
    again.dataset["key"] = "index " + id;
    actions.append(again);
  }
  const remove = button("Delete", "Delete " + filename, async () => {
    if (!confirm("Delete " + filename + "?")) return;
    await call("DELETE", managed("/documents/" + encodeURIComponent(id)));
    showStatus(filename + " is deleted.");
    await refresh();
  });
  remove.dataset["key"] = "delete " + id;
  actions.append(remove);
  return actions;
}

/** Takes a file its next step on. @param {ManagedFile | ReadFile} file */
async function takeOn({ file_id: id, filename, status }) {
  const isParsed = status === "parsed" || status === "error_indexing";
  await call("POST", managed("/documents/" + (isParsed ? "index" : "parse")), { file_ids: [id] });
  showStatus(filename + (isParsed ? " is indexed next." : " is parsed next; then index it."));
}
