// The page: an xterm.js terminal on a connection. Everything shown comes from the shell's own scrollback, so that every
// viewer sees the same; nothing is typed while the connection is down or the scrollback is being replayed.
import { FitAddon } from "./addon-fit.mjs";
import { Terminal } from "./xterm.mjs";
import { connect } from "./connection.js";

const THEME = {
  background: "#16181d",
  foreground: "#d7dae0",
  cursor: "#ffd479",
  selectionBackground: "#3d4555",
};

const sessionId = new URLSearchParams(location.search).get("session_id") ?? "";
const place = document.querySelector("#terminal");
const status = document.querySelector("#status");
const ask = document.querySelector("#ask");
const token = document.querySelector("#token");

const terminal = new Terminal({
  cursorBlink: true,
  fontFamily: "ui-monospace, 'Cascadia Mono', Menlo, 'DejaVu Sans Mono', 'Liberation Mono', monospace",
  fontSize: 14,
  // DejaVu Sans Mono draws underscores below a line of height 1, where they are cut off.
  lineHeight: 1.1,
  scrollback: 10_000,
  theme: THEME,
});
const fit = new FitAddon();
terminal.loadAddon(fit);
terminal.open(place);
fit.fit();

/** Whether keys go to the shell: not while it is disconnected, and not while xterm.js may answer replayed output. */
let isLive = false;
let hasEnded = false;
/** Bytes of the replay that are still to come; undefined when there is none. */
let replayLeft;
/** Counts connections: what an older one still has in xterm.js's queue must not enable the keyboard of a newer one. */
let generation = 0;

const connection = connect(
  sessionId,
  {
    attached(message) {
      generation += 1;
      hasEnded = false;
      isLive = false;
      terminal.reset();
      terminal.resize(message.cols, message.rows);
      replayLeft = message.replay_bytes;
      say("Connected");
      ask.hidden = true;
      if (replayLeft === 0) afterReplay();
    },
    output(bytes) {
      terminal.write(bytes);
      if (replayLeft === undefined) return;
      replayLeft -= bytes.length;
      if (replayLeft <= 0) afterReplay();
    },
    resized: ({ cols, rows }) => terminal.resize(cols, rows),
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
      if (error.code === "unauthorized") {
        say(token.value === "" ? "Locked" : "That token is not right.", "over");
        token.value = "";
        ask.hidden = false;
        token.focus();
      } else {
        say(`${error.message} (${error.code})`, "over");
      }
    },
  },
  () => fit.proposeDimensions() ?? { cols: terminal.cols, rows: terminal.rows },
);

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
terminal.onData((keys) => {
  if (isLive) connection.type(encoder.encode(keys));
  else if (hasEnded && keys === "\r") connection.restart();
});
// Mouse reports of old programs: one byte per character.
terminal.onBinary((keys) => {
  if (isLive) connection.type(Uint8Array.from(keys, (key) => key.charCodeAt(0)));
});

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
window.addEventListener("online", () => connection.hurry());

ask.addEventListener("submit", (event) => {
  event.preventDefault();
  connection.authorize(token.value);
});

/** @param {string} text @param {"down" | "over"} [kind] */
function say(text, kind) {
  status.textContent = text;
  document.body.classList.toggle("is-over", kind === "over");
  document.body.classList.toggle("is-down", kind === "down");
}

function reason({ code, ended_by: by }) {
  if (by === "idle") return " after a long time without use";
  if (by === "request") return " because it was closed";
  if (by === "shutdown") return " because turnd was stopped";
  return code === null ? "" : ` with exit code ${code}`;
}
