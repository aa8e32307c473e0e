/** The page `/cli`, where a person approves the login of a command-line client. Nothing of it comes from elsewhere. */
export const CLI_HTML = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Approve a login</title>
<link rel="stylesheet" href="/cli/page.css">
<script src="/cli/page.js" defer></script>
</head>
<body>
<main>
<h1>Approve a login</h1>
<noscript><p class="fault">This page needs JavaScript.</p></noscript>
<p id="status" role="status" aria-live="polite"></p>
<form id="login">
<p>A command-line client asks to act as you. Log in, then compare the code with the one it shows.</p>
<label for="username">Username</label>
<input id="username" name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="200">
<label for="password">Password</label>
<input id="password" name="password" type="password" autocomplete="current-password" required maxlength="1000">
<button type="submit">Log in</button>
</form>
<form id="find" hidden>
<label for="code">Code that the client shows</label>
<input id="code" name="code" autocomplete="off" autocapitalize="characters" spellcheck="false" required maxlength="20" placeholder="XXXX-XXXX">
<button type="submit">Continue</button>
</form>
<section id="decide" hidden>
<dl>
<dt>Code</dt><dd id="shown-code"></dd>
<dt>Client</dt><dd id="client"></dd>
<dt>Asked from</dt><dd id="ip"></dd>
<dt>Asked at</dt><dd id="asked"></dd>
</dl>
<p>Approve only what you have started yourself: the client gets an API key with all that you may do.</p>
<button id="approve" type="button">Approve</button>
<button id="deny" type="button" class="second">Deny</button>
</section>
</main>
</body>
</html>
`;

export const CLI_STYLE = `:root { font: 100%/1.5 system-ui, sans-serif; }
body { margin: 0; }
main { box-sizing: border-box; max-width: 28rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; }
label { display: block; margin-top: 1rem; font-weight: 600; }
input, button { box-sizing: border-box; width: 100%; min-height: 2.75rem; margin-top: 0.25rem; padding: 0.5rem 0.75rem; font: inherit; }
button { margin-top: 1rem; border: 0; border-radius: 0.375rem; background: #0b57d0; color: #fff; cursor: pointer; }
button.second { background: #5f6368; }
button:disabled { opacity: 0.5; cursor: default; }
input:focus-visible, button:focus-visible { outline: 3px solid #f29900; outline-offset: 2px; }
#status:empty { display: none; }
#status { padding: 0.5rem 0.75rem; border-left: 4px solid #0b57d0; }
#status.fault { border-color: #d93025; }
#code, #shown-code { font-family: ui-monospace, monospace; letter-spacing: 0.1em; }
dl { display: grid; grid-template-columns: auto 1fr; gap: 0.25rem 1rem; }
dt { font-weight: 600; }
dd { margin: 0; overflow-wrap: anywhere; }
[hidden] { display: none; }
`;

/** The token is a variable of the page: no cookie and no storage, so that no other page's request can carry it. */
export const CLI_SCRIPT = `"use strict";
const byId = (id) => document.getElementById(id);
const [status, login, find, decide] = ["status", "login", "find", "decide"].map(byId);
let token = "";
let code = "";

function say(text, isFault) {
  status.textContent = text;
  status.classList.toggle("fault", isFault === true);
}

function show(part, field) {
  for (const each of [login, find, decide]) each.hidden = each !== part;
  field?.focus();
}

async function call(method, path, body) {
  const headers = { accept: "application/json" };
  if (token !== "") headers.authorization = "Bearer " + token;
  if (body !== undefined) headers["content-type"] = "application/json";
  const answer = await fetch(path, { method, headers, credentials: "omit", body: body && JSON.stringify(body) });
  const json = await answer.json();
  if (answer.ok) return json;
  const { detail } = json;
  const fault = new Error(Array.isArray(detail) ? detail.map(({ msg }) => msg).join("; ") : detail.message);
  fault.code = detail.code;
  throw fault;
}

async function attempt(work) {
  const controls = document.querySelectorAll("button");
  for (const each of controls) each.disabled = true;
  try {
    await work();
  } catch (fault) {
    if (fault.code === "unauthorized") {
      token = "";
      show(login, byId("password"));
    }
    say(fault.message === "Failed to fetch" ? "The service does not answer. Try again." : fault.message, true);
  } finally {
    for (const each of controls) each.disabled = false;
  }
}

async function look() {
  const path = "/api/auth/cli/sessions/" + encodeURIComponent(code);
  const session = await call("GET", path);
  if (session.state !== "pending") {
    show(find, byId("code"));
    say("This login is " + session.state + " already.", true);
    return;
  }
  byId("shown-code").textContent = code;
  byId("client").textContent = session.client_name;
  byId("ip").textContent = session.ip;
  byId("asked").textContent = new Date(session.created_at).toLocaleString();
  show(decide);
  byId("approve").disabled = false;
  byId("approve").focus();
  say("");
}

login.addEventListener("submit", (event) => {
  event.preventDefault();
  void attempt(async () => {
    const body = { username: byId("username").value, password: byId("password").value };
    token = (await call("POST", "/api/auth/token", body)).access_token;
    byId("password").value = "";
    say("");
    show(find, byId("code"));
    if (code !== "") await look();
  });
});

find.addEventListener("submit", (event) => {
  event.preventDefault();
  code = byId("code").value.trim().toUpperCase();
  void attempt(look);
});

function decideBy(button, verb, done) {
  byId(button).addEventListener("click", () => {
    void attempt(async () => {
      await call("POST", "/api/auth/cli/sessions/" + encodeURIComponent(code) + "/" + verb);
      show(undefined);
      say(done);
      token = "";
    });
  });
}
decideBy("approve", "approve", "Approved. You can close this page and go back to the client.");
decideBy("deny", "deny", "Denied. The client gets nothing.");

code = (new URLSearchParams(location.search).get("code") ?? "").trim().toUpperCase().slice(0, 20);
byId("code").value = code;
byId("username").focus();
`;
