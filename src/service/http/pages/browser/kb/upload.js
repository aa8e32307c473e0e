import { byId, element, showStatus } from "../page/elements.js";
import { call, describeFault, headersOfCalls, isLoggedOut, readAnswer, Refusal } from "../page/service.js";
import { refreshView } from "./refresh.js";
import { managed, openBase, state } from "./state.js";

/** @typedef {import("../../../../protocol/knowledge-files.ts").Uploaded} Uploaded */

const UPLOADS_AT_ONCE = 3;
/** Files of one call. */
const BATCH = 1000;

/**
 * Uploads files, as far as they are not there yet, and has them parsed and indexed.
 *
 * @param {readonly File[]} files
 */
export async function uploadAll(files) {
  const mine = state.view;
  const rows = files.map(makeRow);
  byId("uploads").replaceChildren(...rows.map(({ item }) => item));
  /** @type {string[]} */
  const items = [];
  const waiting = [...rows];
  const work = async () => {
    for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
      try {
        items.push((await upload(row.file, row.bar)).file_path);
        row.outcome.textContent = "uploaded";
      } catch (fault) {
        if (isLoggedOut(fault)) throw fault;
        const isThere = fault instanceof Refusal && fault.code === "duplicate_content";
        row.outcome.textContent = isThere ? "is there already" : describeFault(fault);
      }
      row.bar.remove();
    }
  };
  await Promise.all(Array.from({ length: UPLOADS_AT_ONCE }, work));
  if (mine !== state.view) return;
  for (let from = 0; from < items.length; from += BATCH) {
    const params = { auto_index: true };
    await call("POST", managed("/documents"), { items: items.slice(from, from + BATCH), params });
  }
  const count = items.length === 1 ? "1 file is" : items.length + " files are";
  showStatus(
    items.length === 0 ? "Nothing new was uploaded." : count + " being parsed and indexed: see the tasks below.",
  );
  await refreshView();
}

/** @param {File} file */
function makeRow(file) {
  const item = element("li");
  const bar = element("progress");
  bar.max = 100;
  bar.value = 0;
  bar.setAttribute("aria-label", "Upload of " + file.name);
  const outcome = element("span", "", "about");
  item.append(element("span", file.name + " "), outcome, bar);
  return { file, item, bar, outcome };
}

/**
 * Uploads one original, and shows its progress.
 *
 * @param {File} file
 * @param {HTMLProgressElement} bar
 * @returns {Promise<Uploaded>}
 */
function upload(file, bar) {
  const { promise, resolve, reject } = Promise.withResolvers();
  const request = new XMLHttpRequest();
  request.open("POST", "/api/knowledge/files/upload?kb_id=" + encodeURIComponent(openBase().kb_id));
  for (const [name, value] of Object.entries(headersOfCalls())) request.setRequestHeader(name, value);
  request.upload.addEventListener("progress", ({ loaded, total }) => {
    bar.value = total === 0 ? 0 : (100 * loaded) / total;
  });
  request.addEventListener("error", () => reject(new Error("The upload was cut off.")));
  request.addEventListener("load", () => {
    try {
      resolve(readAnswer(request.status, request.responseText));
    } catch (fault) {
      reject(fault);
    }
  });
  const form = new FormData();
  form.set("file", file, file.name);
  request.send(form);
  return promise;
}
