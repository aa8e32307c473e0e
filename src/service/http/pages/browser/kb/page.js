import { byId, inputById, showStatus } from "../page/elements.js";
import { logInByForm } from "../page/log-in.js";
import { call, hasToken, useToken } from "../page/service.js";
import { attempt, logOut, show } from "./attempt.js";
import { showBase, showBases } from "./bases.js";
import { MOST_FILES } from "./files.js";
import { findInFile, findMore } from "./find.js";
import { keepLogin, keptLogin } from "./kept-login.js";
import { openFile, showEarlier, showLater } from "./open-file.js";
import { refresh, refreshFiles } from "./refresh.js";
import { search } from "./search.js";
import { FILES, link, state } from "./state.js";
import { uploadAll } from "./upload.js";

/**
 * @typedef {import("../../../../protocol/knowledge-queries.ts").ExternalList} ExternalList
 * @typedef {import("zod").z.infer<typeof import("../../../../protocol/knowledge-bases.ts").KnowledgeBaseAnswer>} Created
 * @typedef {import("zod").z.infer<typeof import("../../../../protocol/auth.ts").Me>} Me
 */

/** Shows what the address names: #/<kb>, #/<kb>/<file>/<first>-<last>. */
async function route() {
  if (!hasToken()) return;
  state.view += 1;
  const mine = state.view;
  clearTimeout(state.timer);
  const parts = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  const [kbId = "", fileId = "", lines = "1-0"] = parts;
  showStatus("");
  /** @type {ExternalList} */
  const { databases } = await call("GET", "/api/knowledge/databases/external?limit=500");
  if (mine !== state.view) return;
  const found = databases.find(({ kb_id: id }) => id === kbId);
  if (found === undefined) {
    if (kbId !== "") showStatus("There is no such knowledge base.", { isFault: true });
    return showBases(databases);
  }
  const isOther = state.base?.kb_id !== found.kb_id;
  state.base = found;
  if (fileId !== "") {
    const [first = 0, last = 0] = lines.split("-").map((part) => Number.parseInt(part, 10) || 0);
    return openFile(fileId, { first: Math.max(1, first), last });
  }
  if (isOther) forgetOther();
  showBase();
  await refresh(mine);
}

/** What was typed and shown of another knowledge base. */
function forgetOther() {
  state.shownFiles = FILES;
  for (const id of ["query", "filter"]) inputById(id).value = "";
  byId("hits").hidden = true;
  byId("uploads").replaceChildren();
}

async function logIn() {
  const { access_token: token, user } = await logInByForm();
  keepLogin(token);
  showUser(user);
  await route();
}

/** Goes on with the login of this tab, or asks for one. */
async function start() {
  const token = keptLogin();
  useToken(token);
  if (token === "") {
    show("login");
    byId("username").focus();
    return;
  }
  /** @type {Me} */
  const { user } = await call("GET", "/api/auth/me");
  showUser(user);
  await route();
}

/** @param {Me["user"]} user */
function showUser({ role, username }) {
  state.role = role;
  byId("user").textContent = username;
}

async function create() {
  const name = inputById("new-name").value.trim();
  /** @type {Created} */
  const { database } = await call("POST", "/api/knowledge/databases", { name });
  inputById("new-name").value = "";
  location.hash = link(database.kb_id);
}

/**
 * @param {string} id - of a form
 * @param {() => Promise<void>} work
 */
function onSubmit(id, work) {
  byId(id).addEventListener("submit", (event) => {
    event.preventDefault();
    void attempt(work);
  });
}

/**
 * @param {string} id
 * @param {() => Promise<void>} work
 */
function onClick(id, work) {
  byId(id).addEventListener("click", () => void attempt(work));
}

/** @param {FileList | undefined} list */
function take(list) {
  const files = [...(list ?? [])];
  if (files.length > 0) void attempt(() => uploadAll(files));
}

onSubmit("login", logIn);
onSubmit("create", create);
onSubmit("search", search);
onSubmit("find", findInFile);
byId("logout").addEventListener("click", () => logOut("You are logged out."));
onClick("earlier", showEarlier);
onClick("later", showLater);
onClick("more-matches", findMore);
onClick("more-files", () => {
  state.shownFiles = Math.min(MOST_FILES, state.shownFiles + FILES);
  return refreshFiles();
});
/** @type {number | undefined} */
let typing;
byId("filter").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => void attempt(refreshFiles), 250);
});
byId("files").addEventListener("change", () => {
  const input = inputById("files");
  take(input.files ?? undefined);
  input.value = "";
});
const drop = byId("drop");
for (const type of ["dragenter", "dragover"])
  drop.addEventListener(type, (event) => {
    event.preventDefault();
    drop.classList.add("over");
  });
drop.addEventListener("dragleave", () => drop.classList.remove("over"));
drop.addEventListener("drop", (event) => {
  event.preventDefault();
  drop.classList.remove("over");
  take(event.dataTransfer?.files);
});
// A file that misses the place must not replace the page.
for (const type of ["dragover", "drop"]) addEventListener(type, (event) => event.preventDefault());
addEventListener("hashchange", () => void attempt(route));
void attempt(start);
