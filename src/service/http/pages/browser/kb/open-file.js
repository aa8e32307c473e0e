import { byId, element } from "../page/elements.js";
import { call } from "../page/service.js";
import { show } from "./attempt.js";
import { findIn } from "./find.js";
import { external, link, openBase, state } from "./state.js";

/** @typedef {import("../../../../protocol/knowledge-queries.ts").Opened} Opened */

/** Lines of one call. */
const WINDOW = 200;
/** Lines above those that were asked for. */
const ABOVE = 20;

/** Which lines of the open file are shown, and which are marked. */
const shown = { fileId: "", first: 1, last: 0, marked: { first: 0, last: 0 } };

/**
 * Shows a file from a little above some lines of it, which are marked.
 *
 * @param {string} fileId
 * @param {{ first: number, last: number }} marked
 */
export async function openFile(fileId, marked) {
  const mine = state.view;
  const base = openBase();
  show("file");
  findIn(fileId);
  byId("back").setAttribute("href", link(base.kb_id));
  byId("back").textContent = "Back to " + base.name;
  byId("lines").replaceChildren();
  byId("file-name").textContent = "";
  Object.assign(shown, { fileId, first: Math.max(1, marked.first - ABOVE), last: 0, marked });
  const lines = await readLines(shown.first, mine);
  if (lines === undefined) return;
  byId("lines").append(...lines);
  shown.last = shown.first + lines.length - 1;
  describeShown();
  byId("file-name").focus();
  byId("lines").querySelector(".hit")?.scrollIntoView({ block: "center" });
}

/** Puts the lines before those that are shown in front of them. */
export async function showEarlier() {
  const from = Math.max(1, shown.first - WINDOW);
  const lines = await readLines(from);
  if (lines === undefined) return;
  byId("lines").prepend(...lines.slice(0, shown.first - from));
  shown.first = from;
  describeShown();
}

/** Puts the lines after those that are shown behind them. */
export async function showLater() {
  const lines = await readLines(shown.last + 1);
  if (lines === undefined) return;
  byId("lines").append(...lines);
  shown.last += lines.length;
  describeShown();
}

let total = 0;

/**
 * @param {number} from
 * @param {number} [mine] - the view they are for
 * @returns undefined where the person has gone on
 */
async function readLines(from, mine = state.view) {
  const path = external("/files/" + encodeURIComponent(shown.fileId) + "/open");
  /** @type {Opened} */
  const opened = await call("GET", path + "?offset=" + (from - 1) + "&limit=" + WINDOW);
  if (mine !== state.view) return undefined;
  document.title = opened.filename + " · Knowledge bases";
  byId("file-name").textContent = opened.filename;
  total = opened.total_lines;
  const texts = opened.window_size === 0 ? [] : opened.content.split("\n");
  return texts.map((text, index) => showLine(text, from + index));
}

/**
 * @param {string} text
 * @param {number} number
 */
function showLine(text, number) {
  const item = element("li", text === "" ? " " : text);
  item.dataset["line"] = String(number);
  if (number >= shown.marked.first && number <= shown.marked.last) item.className = "hit";
  return item;
}

function describeShown() {
  const { first, last } = shown;
  byId("file-lines").textContent =
    total === 0 ? "The file is empty." : "Lines " + first + " to " + last + " of " + total;
  byId("earlier").hidden = first <= 1;
  byId("later").hidden = last >= total;
}
