import { byId, inputById, showStatus, typedById } from "../page/elements.js";
import { logInByForm } from "../page/log-in.js";
import { call, describeFault, isLoggedOut, useToken } from "../page/service.js";

/** @typedef {import("../../../../protocol/auth.ts").CliSession} CliSession */

const PARTS = ["login", "find", "decide"];
let code = "";

/**
 * @param {string | undefined} part - the only one that is shown
 * @param {HTMLElement} [field]
 */
function show(part, field) {
  for (const each of PARTS) byId(each).hidden = each !== part;
  field?.focus();
}

/** @param {() => Promise<void>} work */
async function attempt(work) {
  const controls = document.querySelectorAll("button");
  for (const each of controls) each.disabled = true;
  try {
    await work();
  } catch (fault) {
    if (isLoggedOut(fault)) {
      useToken("");
      show("login", byId("password"));
    }
    showStatus(describeFault(fault), { isFault: true });
  } finally {
    for (const each of controls) each.disabled = false;
  }
}

async function look() {
  const path = "/api/auth/cli/sessions/" + encodeURIComponent(code);
  /** @type {CliSession} */
  const session = await call("GET", path);
  if (session.state !== "pending") {
    show("find", byId("code"));
    showStatus("This login is " + session.state + " already.", { isFault: true });
    return;
  }
  byId("shown-code").textContent = code;
  byId("client").textContent = session.client_name;
  byId("ip").textContent = session.ip;
  byId("asked").textContent = new Date(session.created_at).toLocaleString();
  show("decide");
  typedById("approve", HTMLButtonElement).disabled = false;
  byId("approve").focus();
  showStatus("");
}

/**
 * @param {"approve" | "deny"} verb - the button's id too
 * @param {string} done
 */
function decideBy(verb, done) {
  byId(verb).addEventListener("click", () => {
    void attempt(async () => {
      await call("POST", "/api/auth/cli/sessions/" + encodeURIComponent(code) + "/" + verb);
      show(undefined);
      showStatus(done);
      useToken("");
    });
  });
}

byId("login").addEventListener("submit", (event) => {
  event.preventDefault();
  void attempt(async () => {
    await logInByForm();
    showStatus("");
    show("find", byId("code"));
    if (code !== "") await look();
  });
});
byId("find").addEventListener("submit", (event) => {
  event.preventDefault();
  code = inputById("code").value.trim().toUpperCase();
  void attempt(look);
});
decideBy("approve", "Approved. You can close this page and go back to the client.");
decideBy("deny", "Denied. The client gets nothing.");

code = (new URLSearchParams(location.search).get("code") ?? "").trim().toUpperCase().slice(0, 20);
inputById("code").value = code;
byId("username").focus();
