// Over 300 lines: one program of one page, which a browser gets as one file.
/** The program of the page `/kb`. The token is a variable of the page: no cookie and no storage, as on `/cli`. */
export const KB_SCRIPT = `const byId = (id) => document.getElementById(id);
const PARTS = ["login", "bases", "base", "file"];
const FILES = 50;
const WINDOW = 200;
const POLL_MS = 1500;
const UPLOADS_AT_ONCE = 3;
const BUSY = new Set(["parsing", "indexing"]);
const FAILED = new Set(["error_parsing", "error_indexing"]);

let token = "";
let role = "";
/** What is shown: the knowledge base as the list of readable ones has it. */
let base;
let shownFiles = FILES;
/** Which lines of the open file are shown. */
let viewer = { first: 1, last: 0, total: 0, hit: [0, 0] };
let timer;
/** An answer that comes after the person has gone on is not shown. */
let view = 0;

function say(text, isFault) {
  byId("status").textContent = text;
  byId("status").classList.toggle("fault", isFault === true);
}

function show(part) {
  for (const each of PARTS) byId(each).hidden = each !== part;
  byId("who").hidden = part === "login";
}

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className !== undefined) made.className = className;
  return made;
}

function button(text, label, work) {
  const made = element("button", text, "small second");
  made.type = "button";
  made.setAttribute("aria-label", label);
  made.addEventListener("click", () => void attempt(work));
  return made;
}

async function call(method, path, body) {
  const headers = { accept: "application/json" };
  if (token !== "") headers.authorization = "Bearer " + token;
  if (body !== undefined) headers["content-type"] = "application/json";
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const answer = await fetch(path, { method, headers, credentials: "omit", body: sent });
  return read(answer.status, await answer.text());
}

function read(status, text) {
  let json = {};
  try {
    json = JSON.parse(text);
  } catch {
    // A proxy answers with pages of its own.
    if (status < 400) throw new Error("The service gave an answer that is not its own.");
  }
  if (status < 400) return json;
  const { detail = {} } = json;
  const message = Array.isArray(detail) ? detail.map(({ msg }) => msg).join("; ") : detail.message;
  const fault = new Error(message ?? "The service answered " + status + ".");
  fault.code = detail.code;
  throw fault;
}

async function attempt(work) {
  try {
    await work();
  } catch (fault) {
    if (fault.code === "unauthorized") return logOut("Log in again.");
    say(fault.message === "Failed to fetch" ? "The service does not answer. Try again." : fault.message, true);
  }
}

function logOut(text) {
  token = "";
  clearTimeout(timer);
  view += 1;
  show("login");
  say(text);
  byId("username").focus();
}

const external = (end) => "/api/knowledge/databases/external/" + encodeURIComponent(base.kb_id) + end;
const managed = (end) => "/api/knowledge/databases/" + encodeURIComponent(base.kb_id) + end;
const link = (kbId, fileId, lines) =>
  "#/" + [kbId, fileId, lines].filter(Boolean).map(encodeURIComponent).join("/");

/** Shows what the address names: #/<kb>, #/<kb>/<file>/<first>-<last>. */
async function route() {
  if (token === "") return;
  const mine = ++view;
  clearTimeout(timer);
  const [kbId, fileId, lines = "1-0"] = location.hash.replace(/^#\\/?/, "").split("/").map(decodeURIComponent);
  say("");
  const { databases } = await call("GET", "/api/knowledge/databases/external?limit=500");
  if (mine !== view) return;
  const found = databases.find(({ kb_id: id }) => id === kbId);
  if (kbId !== "" && kbId !== undefined && found === undefined) say("There is no such knowledge base.", true);
  if (found === undefined) return showBases(databases);
  const isOther = base?.kb_id !== found.kb_id;
  base = found;
  if (fileId !== undefined && fileId !== "") {
    const [first, last] = lines.split("-").map((part) => Number.parseInt(part, 10) || 0);
    return openFile(fileId, { first: Math.max(1, first), last });
  }
  if (isOther) {
    shownFiles = FILES;
    for (const id of ["query", "filter"]) byId(id).value = "";
    byId("hits").hidden = true;
    byId("uploads").replaceChildren();
  }
  showBase();
  await refresh(mine);
}

function showBases(databases) {
  base = undefined;
  show("bases");
  byId("base-list").replaceChildren(
    ...databases.map(({ kb_id: id, name, description, file_count: files, kb_type: type }) => {
      const item = element("li");
      const to = element("a", name);
      to.href = link(id);
      const about = type === "local" ? files + (files === 1 ? " file" : " files") : "content of " + type;
      item.append(to, element("p", description === "" ? about : about + " · " + description, "about"));
      return item;
    }),
  );
  byId("no-bases").hidden = databases.length > 0;
  byId("create").hidden = role !== "admin" && role !== "superadmin";
}

function showBase() {
  show("base");
  document.title = base.name + " · Knowledge bases";
  byId("base-name").textContent = base.name;
  byId("base-about").textContent = base.description;
  byId("documents").hidden = !base.supports_documents;
  byId("upload").hidden = !base.can_manage || (role !== "admin" && role !== "superadmin");
  byId("work").hidden = !base.can_manage;
}

/** Files and tasks, again and again while something is at work. */
async function refresh(mine) {
  // Files after tasks: what a task that has ended did to them is shown.
  const isBusy = [await showTasks(mine), await showFiles(mine)].some(Boolean);
  if (mine !== view || byId("base").hidden) return;
  clearTimeout(timer);
  if (isBusy) timer = setTimeout(() => void attempt(() => refresh(mine)), POLL_MS);
}

async function showFiles(mine) {
  if (!base.supports_documents) return false;
  const name = byId("filter").value.trim();
  const page = name === "" ? "" : "&query=" + encodeURIComponent(name);
  // Whoever manages sees what is wrong with a file; a reader sees its state.
  const path = base.can_manage
    ? managed("/documents?skip=0&limit=" + shownFiles + page)
    : external("/files?limit=" + shownFiles + page);
  const { files, total } = await call("GET", path);
  if (mine !== view) return false;
  byId("file-count").textContent = total === 1 ? "1 file" : total + " files";
  byId("more-files").hidden = files.length >= total || shownFiles >= 500;
  const focused = document.activeElement?.dataset?.key;
  byId("file-list").replaceChildren(...files.map(showFile));
  if (focused !== undefined) document.querySelector('[data-key="' + CSS.escape(focused) + '"]')?.focus();
  return files.some(({ status }) => BUSY.has(status));
}

function showFile(file) {
  const { file_id: id, filename, source_path: path, status, error } = file;
  const item = element("li");
  const isOpenable = ["parsed", "indexing", "indexed", "error_indexing"].includes(status);
  const name = element(isOpenable ? "a" : "span", path ?? filename);
  if (isOpenable) name.href = link(base.kb_id, id);
  name.dataset.key = "open " + id;
  const hasFailed = FAILED.has(status);
  item.append(name, " ", element("span", status.replace("_", " "), hasFailed ? "state fault" : "state"));
  const facts = [
    size(file.size ?? file.file_size),
    ...(file.lines > 0 ? [file.lines + " lines"] : []),
    ...(file.pages > 0 ? [file.pages + " pages"] : []),
    ...(file.chunk_count > 0 ? [file.chunk_count + " passages"] : []),
  ];
  item.append(element("p", facts.join(" · "), "about"));
  if (error) item.append(element("p", error.code + ": " + error.message, "about"));
  if (!base.can_manage) return item;
  const actions = element("p", undefined, "actions");
  if (!BUSY.has(status) && status !== "indexed") {
    const again = button(hasFailed ? "Try again" : "Index", "Index " + filename, () => process(file));
    again.dataset.key = "index " + id;
    actions.append(again);
  }
  if (!BUSY.has(status)) {
    const remove = button("Delete", "Delete " + filename, async () => {
      if (!confirm("Delete " + filename + "?")) return;
      await call("DELETE", managed("/documents/" + encodeURIComponent(id)));
      say(filename + " is deleted.");
      await refresh(view);
    });
    remove.dataset.key = "delete " + id;
    actions.append(remove);
  }
  item.append(actions);
  return item;
}

/** Takes a file its next step on. */
async function process({ file_id: id, filename, status }) {
  const isParsed = status === "parsed" || status === "error_indexing";
  await call("POST", managed("/documents/" + (isParsed ? "index" : "parse")), { file_ids: [id] });
  say(filename + (isParsed ? " is indexed next." : " is parsed next; then index it."));
  await refresh(view);
}

async function showTasks(mine) {
  if (!base.can_manage) return false;
  const { tasks } = await call("GET", "/api/tasks?limit=50");
  if (mine !== view) return false;
  const shown = tasks.filter(({ kind }) => kind.startsWith("knowledge_")).slice(0, 10);
  byId("work").hidden = shown.length === 0;
  const focused = document.activeElement?.dataset?.key;
  byId("task-list").replaceChildren(...shown.map(showTask));
  if (focused?.startsWith("cancel ")) document.querySelector('[data-key="' + CSS.escape(focused) + '"]')?.focus();
  return shown.some(isOpen);
}

const isOpen = ({ status }) => status === "pending" || status === "running";

function showTask(task) {
  const { id, name, status, progress, message, error } = task;
  const item = element("li");
  const hasFailed = status === "failed";
  item.append(element("span", name), " ", element("span", status, hasFailed ? "state fault" : "state"));
  const said = error?.message ?? message;
  if (said) item.append(element("p", said, "about"));
  if (!isOpen(task)) return item;
  const bar = element("progress");
  bar.max = 100;
  bar.value = progress;
  bar.setAttribute("aria-label", "Progress of " + name);
  const cancel = button("Cancel", "Cancel " + name, async () => {
    await call("POST", "/api/tasks/" + encodeURIComponent(id) + "/cancel");
    await refresh(view);
  });
  cancel.dataset.key = "cancel " + id;
  item.append(bar, cancel);
  return item;
}

function size(bytes) {
  if (bytes < 1024) return bytes + " B";
  return bytes < 1048576 ? Math.round(bytes / 1024) + " KB" : (bytes / 1048576).toFixed(1) + " MB";
}

async function search() {
  const query = byId("query").value.trim();
  if (query === "") return;
  const mine = view;
  say("Searching…");
  const { results, search_mode: mode, warnings } = await call("POST", external("/retrieve"), { query });
  if (mine !== view) return;
  say("");
  const count = results.length === 1 ? "1 passage" : results.length + " passages";
  const notes = [mode, ...warnings].map((word) => word.replaceAll("_", " ")).join(", ");
  byId("hits-title").textContent = (results.length === 0 ? "No passage" : count) + " (" + notes + ")";
  byId("hit-list").replaceChildren(...results.map(showHit));
  byId("hits").hidden = false;
  byId("hits-title").focus();
}

function showHit({ file_id: fileId, content, score, metadata }) {
  const { source, heading, start_line: first, end_line: last, page, source_url: url } = metadata;
  const item = element("li");
  const isOpenable = base.supports_documents;
  const place = element(isOpenable || url ? "a" : "span", isOpenable ? source + ":" + first + "-" + last : source);
  if (isOpenable) place.href = link(base.kb_id, fileId, first + "-" + last);
  else if (/^https?:/.test(url ?? "")) {
    place.href = url;
    place.rel = "noreferrer noopener";
  }
  const about = [...(heading === "" ? [] : [heading]), ...(page === null ? [] : ["page " + page]), score.toFixed(2)];
  item.append(place, element("div", about.join(" · "), "about"), element("pre", content));
  return item;
}

async function openFile(fileId, { first, last }) {
  const mine = view;
  show("file");
  byId("back").href = link(base.kb_id);
  byId("back").textContent = "Back to " + base.name;
  byId("lines").replaceChildren();
  byId("file-name").textContent = "";
  viewer = { fileId, first: Math.max(1, first - 20), last: 0, total: 0, hit: [first, last] };
  await showLines(viewer.first, "start", mine);
  byId("file-name").focus();
  const hit = byId("lines").querySelector(".hit");
  hit?.scrollIntoView({ block: "center" });
}

async function showLines(from, end, mine = view) {
  const path = external("/files/" + encodeURIComponent(viewer.fileId) + "/open");
  const opened = await call("GET", path + "?offset=" + (from - 1) + "&limit=" + WINDOW);
  if (mine !== view) return;
  const { filename, total_lines: total, content, window_size: count } = opened;
  document.title = filename + " · Knowledge bases";
  byId("file-name").textContent = filename;
  const lines = count === 0 ? [] : content.split("\\n");
  const made = lines.map((text, index) => {
    const item = element("li", text === "" ? " " : text);
    const number = from + index;
    item.dataset.line = String(number);
    if (number >= viewer.hit[0] && number <= viewer.hit[1]) item.className = "hit";
    return item;
  });
  if (end === "before") {
    byId("lines").prepend(...made.slice(0, viewer.first - from));
    viewer.first = from;
  } else {
    byId("lines").append(...made);
    viewer.last = from + lines.length - 1;
  }
  viewer.total = total;
  byId("file-lines").textContent =
    total === 0 ? "The file is empty." : "Lines " + viewer.first + " to " + viewer.last + " of " + total;
  byId("earlier").hidden = viewer.first <= 1;
  byId("later").hidden = viewer.last >= total;
}

/** Uploads one original, and says how far it is. */
function upload(file, bar) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/api/knowledge/files/upload?kb_id=" + encodeURIComponent(base.kb_id));
    request.setRequestHeader("authorization", "Bearer " + token);
    request.setRequestHeader("accept", "application/json");
    request.upload.addEventListener("progress", ({ loaded, total }) => {
      bar.value = total === 0 ? 0 : (100 * loaded) / total;
    });
    request.addEventListener("error", () => reject(new Error("The upload was cut off.")));
    request.addEventListener("load", () => {
      try {
        resolve(read(request.status, request.responseText));
      } catch (fault) {
        reject(fault);
      }
    });
    const form = new FormData();
    form.set("file", file, file.name);
    request.send(form);
  });
}

async function uploadAll(files) {
  const mine = view;
  const rows = files.map((file) => {
    const item = element("li");
    const bar = element("progress");
    bar.max = 100;
    bar.value = 0;
    bar.setAttribute("aria-label", "Upload of " + file.name);
    const state = element("span", "", "about");
    item.append(element("span", file.name + " "), state, bar);
    return { file, item, bar, state };
  });
  byId("uploads").replaceChildren(...rows.map(({ item }) => item));
  const items = [];
  const waiting = [...rows];
  const work = async () => {
    for (let row = waiting.shift(); row !== undefined; row = waiting.shift()) {
      try {
        items.push((await upload(row.file, row.bar)).file_path);
        row.state.textContent = "uploaded";
      } catch (fault) {
        if (fault.code === "unauthorized") throw fault;
        row.state.textContent = fault.code === "duplicate_content" ? "is there already" : fault.message;
      }
      row.bar.remove();
    }
  };
  await Promise.all(Array.from({ length: UPLOADS_AT_ONCE }, work));
  if (mine !== view) return;
  for (let from = 0; from < items.length; from += 1000) {
    const params = { auto_index: true };
    await call("POST", managed("/documents"), { items: items.slice(from, from + 1000), params });
  }
  const count = items.length === 1 ? "1 file is" : items.length + " files are";
  say(items.length === 0 ? "Nothing new was uploaded." : count + " being parsed and indexed: see the tasks below.");
  await refresh(view);
}

byId("login").addEventListener("submit", (event) => {
  event.preventDefault();
  void attempt(async () => {
    const body = { username: byId("username").value, password: byId("password").value };
    const answer = await call("POST", "/api/auth/token", body);
    byId("password").value = "";
    token = answer.access_token;
    role = answer.user.role;
    byId("user").textContent = answer.user.username;
    await route();
  });
});
byId("logout").addEventListener("click", () => logOut("You are logged out."));
byId("create").addEventListener("submit", (event) => {
  event.preventDefault();
  void attempt(async () => {
    const { database } = await call("POST", "/api/knowledge/databases", { name: byId("new-name").value.trim() });
    byId("new-name").value = "";
    location.hash = link(database.kb_id);
  });
});
byId("search").addEventListener("submit", (event) => {
  event.preventDefault();
  void attempt(search);
});
let typing;
byId("filter").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => void attempt(() => showFiles(view)), 250);
});
byId("more-files").addEventListener("click", () => {
  shownFiles = Math.min(500, shownFiles + FILES);
  void attempt(() => showFiles(view));
});
byId("earlier").addEventListener("click", () => {
  const { first } = viewer;
  void attempt(() => showLines(Math.max(1, first - WINDOW), "before"));
});
byId("later").addEventListener("click", () => void attempt(() => showLines(viewer.last + 1, "after")));
byId("files").addEventListener("change", ({ target }) => {
  const files = [...target.files];
  target.value = "";
  if (files.length > 0) void attempt(() => uploadAll(files));
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
  const files = [...event.dataTransfer.files];
  if (files.length > 0) void attempt(() => uploadAll(files));
});
// A file that misses the place must not replace the page.
for (const type of ["dragover", "drop"]) addEventListener(type, (event) => event.preventDefault());
addEventListener("hashchange", () => void attempt(route));
show("login");
byId("username").focus();
`;
