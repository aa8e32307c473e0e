// The page: an xterm.js terminal on a connection. Everything shown comes from the shell's own scrollback, so that every
// viewer sees the same; nothing is typed while the connection is down or the scrollback is being replayed.
import { FitAddon } from "./addon-fit.mjs";
import { Unicode11Addon } from "./addon-unicode11.mjs";
import { Terminal } from "./xterm.mjs";
import { connect } from "./connection.js";
import { connectKeys, copyText } from "./keys.js";
import { isLoggedIn, logIn, logOut, redeemHandOver } from "./login.js";

const THEME = {
  background: "#16181d",
  foreground: "#d7dae0",
  cursor: "#ffd479",
  selectionBackground: "#3d4555",
};

const TITLE = "Terminal";
const MAX_TITLE_CHARACTERS = 200;
/** An id that turnd made. */
const LINK = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const DEAD_LINK =
  "This link opens no shell any more: it was not used for long, or turnd was started again. Log in for a new shell.";

const sessionId = new URLSearchParams(location.search).get("session_id") ?? "";
const place = document.querySelector("#terminal");
const status = document.querySelector("#status");
const followSize = document.querySelector("#take-size");
const ask = document.querySelector("#ask");
const token = document.querySelector("#token");
const start = document.querySelector("#new");
const why = document.querySelector("#why");
const leave = document.querySelector("#log-out");

const terminal = new Terminal({
  cursorBlink: true,
  fontFamily: "ui-monospace, 'Cascadia Mono', Menlo, 'DejaVu Sans Mono', 'Liberation Mono', monospace",
  fontSize: 14,
  // DejaVu Sans Mono draws underscores below a line of height 1, where they are cut off.
  lineHeight: 1.1,
  scrollback: 10_000,
  theme: THEME,
  // Programs choose dark blue and grey for other backgrounds; WCAG AA.
  minimumContrastRatio: 4.5,
  // What the widths of Unicode 11 are set by.
  allowProposedApi: true,
});
const fit = new FitAddon();
terminal.loadAddon(fit);
// Emoji are two columns wide, as programs count them; xterm.js by itself has the widths of Unicode 6.
terminal.loadAddon(new Unicode11Addon());
terminal.unicode.activeVersion = "11";
terminal.open(place);
fit.fit();

/** Whether keys go to the shell: not while it is disconnected, and not while xterm.js may answer replayed output. */
let isLive = false;
let hasEnded = false;
/** The shell that was shown last, by when it was started: another one after a restart of turnd. */
let shellStartedAt;
/** Set from the page's own wish for a new shell until it is there. */
let isNewWanted = false;
/** What stands in the status while connected. */
let notice = "Connected";
/** Bytes of the replay that are still to come; undefined when there is none. */
let replayLeft;
/** Counts connections: what an older one still has in xterm.js's queue must not enable the keyboard of a newer one. */
let generation = 0;

const connection = connect(
  sessionId === "" ? undefined : sessionId,
  {
    opened(id) {
      const url = new URL(location.href);
      if (url.searchParams.get("session_id") === id) return;
      // From here on a reload shows this shell.
      url.searchParams.set("session_id", id);
      history.replaceState(null, "", url);
    },
    attached(message) {
      generation += 1;
      const isAnother = shellStartedAt !== undefined && shellStartedAt !== message.created_at && !isNewWanted;
      shellStartedAt = message.created_at;
      hasEnded = isNewWanted = false;
      document.title = TITLE;
      isLive = false;
      terminal.reset();
      terminal.resize(message.cols, message.rows);
      replayLeft = message.replay_bytes;
      notice = "Connected";
      if (isAnother) notice = "Connected. The shell before has ended, with turnd; this is a new one.";
      else if (message.others > 0) notice = `Connected. ${shared(message.others)}; it has this window's size now.`;
      say(notice);
      ask.hidden = start.hidden = true;
      if (replayLeft === 0) afterReplay();
      void isLoggedIn().then(
        (is) => (leave.hidden = !is),
        // Not known, so not offered.
        () => (leave.hidden = true),
      );
    },
    output(bytes) {
      terminal.write(bytes);
      if (replayLeft === undefined) return;
      replayLeft -= bytes.length;
      if (replayLeft <= 0) afterReplay();
    },
    resized({ cols, rows }) {
      terminal.resize(cols, rows);
      const own = fit.proposeDimensions();
      const isOwn = own === undefined || (own.cols === cols && own.rows === rows);
      say(isOwn ? notice : `Connected. Another viewer has set the size to ${cols} × ${rows}.`);
      followSize.hidden = isOwn;
    },
    ended({ exit }) {
      isLive = false;
      hasEnded = true;
      say(`The shell has ended${reason(exit)}. Press Enter for a new one.`, "over");
    },
    down(retryMs) {
      isLive = false;
      say(`Disconnected. Trying again in ${(retryMs / 1000).toFixed(1)} s …`, "down");
    },
    refused(error) {
      isLive = false;
      if (error.code === "unauthorized" && shellStartedAt !== undefined && ask.hidden && !isNewWanted) {
        // It was open: its shell went with the turnd that had given the link.
        hasEnded = true;
        say("The shell has ended, with turnd. Press Enter for a new one.", "over");
      } else if (error.code === "unauthorized") {
        say("Not logged in", "over");
        askForToken();
      } else {
        say(`${error.message} (${error.code})`, "over");
      }
    },
  },
  () => fit.proposeDimensions() ?? { cols: terminal.cols, rows: terminal.rows },
);

function askForToken() {
  const given = new URLSearchParams(location.search).get("session_id") ?? "";
  // Such a link opens by itself as long as the turnd that gave it knows it.
  if (LINK.test(given)) why.textContent = DEAD_LINK;
  token.value = "";
  ask.hidden = false;
  start.hidden = true;
  token.focus();
}

/** Enables the keyboard when xterm.js has processed the replay: its answers to old output are dropped. */
function afterReplay() {
  const mine = generation;
  replayLeft = undefined;
  terminal.write("", () => {
    if (mine !== generation || hasEnded) return;
    isLive = true;
    terminal.focus();
  });
}

const encoder = new TextEncoder();
const withHeldKeys = connectKeys(document.querySelector("#keys"), terminal);
terminal.onData((keys) => {
  if (isLive) connection.type(encoder.encode(withHeldKeys(keys)));
  else if (hasEnded && keys === "\r") openNew();
});

function openNew() {
  isNewWanted = true;
  connection.restart();
}
// Mouse reports of old programs: one byte per character.
terminal.onBinary((keys) => {
  if (isLive) connection.type(Uint8Array.from(keys, (key) => key.charCodeAt(0)));
});

// Shown only as text, so whatever a program sets is harmless.
terminal.onTitleChange((given) => {
  const title = given.replace(/[\p{Cc}\p{Cf}]/gu, "").trim();
  document.title = title === "" ? TITLE : `${title.slice(0, MAX_TITLE_CHARACTERS)} – ${TITLE}`;
});

// Ctrl+C is the program's.
terminal.attachCustomKeyEventHandler((event) => {
  if (!event.ctrlKey || !event.shiftKey || event.code !== "KeyC") return true;
  // Otherwise the browser opens its developer tools.
  event.preventDefault();
  if (event.type === "keydown" && terminal.hasSelection()) void copySelection();
  return false;
});

async function copySelection() {
  const isCopied = await copyText(terminal.getSelection());
  terminal.focus();
  if (isLive) say(isCopied ? "Copied" : "The browser does not let this page copy.");
}

// The last viewer that reports a size decides: one that changes its window, or comes back to it.
function claimSize() {
  const wanted = fit.proposeDimensions();
  if (wanted && (wanted.cols !== terminal.cols || wanted.rows !== terminal.rows)) connection.resize();
}
new ResizeObserver(claimSize).observe(place);
window.addEventListener("focus", () => {
  claimSize();
  connection.hurry();
});
followSize.addEventListener("click", () => {
  claimSize();
  terminal.focus();
});
window.addEventListener("online", () => connection.hurry());

ask.addEventListener("submit", (event) => {
  event.preventDefault();
  void submitToken();
});

async function submitToken() {
  const given = token.value;
  token.value = "";
  say("Logging in …");
  try {
    if (await logIn(given)) connection.open();
    else say("That token is not right.", "over");
  } catch {
    token.value = given;
    say("turnd does not answer.", "over");
  }
}

leave.addEventListener("click", () => void leaveLogin());

async function leaveLogin() {
  try {
    await logOut();
  } catch {
    say("turnd does not answer: you are still logged in.");
    return;
  }
  connection.close();
  isLive = false;
  terminal.reset();
  leave.hidden = true;
  say("Logged out", "over");
  askForToken();
}

start.addEventListener("submit", (event) => {
  event.preventDefault();
  connection.open();
});

// Everything that the page needs is here.
document.querySelector("#loading").remove();
if (sessionId === "") {
  say("No shell yet", "over");
  document.querySelector("#start").focus();
  start.hidden = false;
} else {
  say("Connecting …");
  await redeemHandOver();
  connection.open();
}

function shared(others) {
  return others === 1 ? "Another viewer shares this shell" : `${others} other viewers share this shell`;
}

/** @param {string} text @param {"down" | "over"} [kind] */
function say(text, kind) {
  status.textContent = text;
  followSize.hidden = true;
  document.body.classList.toggle("is-over", kind === "over");
  document.body.classList.toggle("is-down", kind === "down");
}

function reason({ code, ended_by: by }) {
  if (by === "idle") return " after a long time without use";
  if (by === "request") return " because it was closed";
  if (by === "shutdown") return " because turnd was stopped";
  return code === null ? "" : ` with exit code ${code}`;
}
