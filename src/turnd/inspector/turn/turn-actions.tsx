import { useState } from "preact/hooks";
import { TerminalUrlEnvelope } from "../../protocol/shell.ts";
import type { Tolerant } from "../../protocol/newer-words.ts";
import type { TurnInputText, TurnSnapshot } from "../../protocol/turns.ts";
import { fetchRaw, handOverLogin, login, turnd } from "../connection.ts";
import { isDialogOpen, showFault, showNotice } from "../dialogs/open-dialog.ts";
import { refreshList } from "../list/turn-list.ts";
import { copyText } from "../text/copy-text.ts";
import { isWebAddress } from "../text/visible.ts";
import { curlOf, type CurlCall } from "./curl.ts";
import { saveAs } from "./save-as.ts";

export interface TurnActionsProps {
  readonly turn: Tolerant<TurnSnapshot>;
  readonly input: Tolerant<TurnInputText> | undefined;
}

/** What can be done with a turn. */
export function TurnActions({ turn, input }: TurnActionsProps) {
  const isOver = turn.status !== "queued" && turn.status !== "running";
  return (
    <div class="actions">
      {!isOver && <CancelButton turnId={turn.turn_id} />}
      <button type="button" class="second" onClick={() => void openTerminal(turn.session_id)}>
        Terminal
      </button>
      <Menu label="Export">
        <MenuItem onClick={() => void save(turn, "recording")} isDisabled={!isOver}>
          Recording (JSON)
        </MenuItem>
        <MenuItem onClick={() => void save(turn, "events")}>Events (NDJSON)</MenuItem>
        <MenuItem onClick={() => void save(turn, "result")} isDisabled={!isOver}>
          Result (JSON)
        </MenuItem>
      </Menu>
      <Menu label="Copy as curl">
        {callsOf(turn, input).map((call) => (
          <MenuItem key={call} onClick={() => void copyCurl(call, turn, input)}>
            {CALL_NAMES[call]}
          </MenuItem>
        ))}
      </Menu>
    </div>
  );
}

/** A replay was started by its recording, which no command has room for, and no one is shown the images of a prompt. */
function callsOf(
  { executor }: Tolerant<TurnSnapshot>,
  input: Tolerant<TurnInputText> | undefined,
): readonly CurlCall[] {
  const others = ["events", "result", "cancel"] as const;
  return executor === "replay" || input === undefined || input.images > 0 ? others : ["start", ...others];
}

const CALL_NAMES: Readonly<Record<CurlCall, string>> = {
  start: "Start such a turn",
  events: "Follow its events",
  result: "Get its result, explained",
  cancel: "Cancel it",
};

function CancelButton({ turnId }: { readonly turnId: string }) {
  const [isBusy, setBusy] = useState(false);
  return (
    <button
      type="button"
      class="danger"
      id="cancel-turn"
      disabled={isBusy}
      onClick={() => {
        setBusy(true);
        void cancelTurn(turnId).finally(() => setBusy(false));
      }}
    >
      {isBusy ? "Cancelling …" : "Cancel"}
    </button>
  );
}

async function cancelTurn(turnId: string): Promise<void> {
  try {
    const receipt = await turnd.cancel(turnId);
    const count = receipt.ended.length;
    showNotice(
      receipt.already_ended
        ? "The turn had ended already."
        : `Cancelled: ${count} ${count === 1 ? "process" : "processes"} ended in ${receipt.duration_ms} ms.`,
    );
  } catch (error) {
    showFault(error);
  }
  await refreshList();
}

/** In a tab of its own, which is opened at once: after the answer a browser would take it for an advertisement. */
async function openTerminal(sessionId: string): Promise<void> {
  const tab = window.open("about:blank", "_blank");
  try {
    const answer = await fetchRaw(`/v1/shell/terminal-url?session_id=${encodeURIComponent(sessionId)}`);
    const { data, message } = TerminalUrlEnvelope.parse(await answer.json());
    if (data === null || !isWebAddress(data)) throw new Error(message);
    if (tab === null) throw new Error(`the browser opened no tab; the terminal is at ${data}`);
    tab.opener = null;
    tab.location.replace(await withLogin(data));
  } catch (error) {
    tab?.close();
    showFault(error);
  }
}

/**
 * The address with what logs its page in where that is of another origin, which has a login of its own. It stands behind the
 * `#`, which is sent to no server, and is good once.
 */
async function withLogin(url: string): Promise<string> {
  const target = new URL(url);
  // turnd does not see whether a proxy before its front speaks https.
  if (target.host === location.host) return new URL(`${target.pathname}${target.search}`, location.origin).href;
  if (login.value !== "done" || target.origin === location.origin) return url;
  target.hash = `login=${await handOverLogin()}`;
  return target.href;
}

const EXPORTS = {
  recording: { path: "recording", ending: "recording.json" },
  events: { path: "events", ending: "events.ndjson" },
  result: { path: "result?explain=true", ending: "result.json" },
} as const;

async function save({ turn_id: id }: Tolerant<TurnSnapshot>, what: keyof typeof EXPORTS): Promise<void> {
  const { path, ending } = EXPORTS[what];
  try {
    const answer = await fetchRaw(`/v1/turns/${encodeURIComponent(id)}/${path}`);
    saveAs(`${id}.${ending}`, await answer.blob());
  } catch (error) {
    showFault(error);
  }
}

async function copyCurl(
  call: CurlCall,
  turn: Tolerant<TurnSnapshot>,
  input: Tolerant<TurnInputText> | undefined,
): Promise<void> {
  const command = curlOf(call, turn, input);
  const missing = call === "start" ? (input?.not_shown ?? []) : [];
  // Law: never pretend.
  const without = missing.length === 0 ? "" : ` This turn had ${missing.join(" and ")}, which the command has not.`;
  const token = login.value === "open" ? "" : " It reads the token from the variable TURND_TOKEN.";
  if (await copyText(command)) showNotice(`Copied.${token}${without}`);
  else {
    isDialogOpen.value = { command };
    if (without !== "") showNotice(without.trim());
  }
}

function Menu({ label, children }: { readonly label: string; readonly children: preact.ComponentChildren }) {
  return (
    <details
      class="menu"
      onFocusOut={(event) => {
        const to = event.relatedTarget;
        if (!(to instanceof Node && event.currentTarget.contains(to))) event.currentTarget.open = false;
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        event.currentTarget.open = false;
        event.currentTarget.querySelector("summary")?.focus();
      }}
    >
      <summary class="second">{label}</summary>
      <div class="menu-items">{children}</div>
    </details>
  );
}

interface MenuItemProps {
  readonly children: preact.ComponentChildren;
  readonly isDisabled?: boolean;
  onClick(): void;
}

function MenuItem({ children, isDisabled = false, onClick }: MenuItemProps) {
  return (
    <button
      type="button"
      disabled={isDisabled}
      onClick={(event) => {
        const menu = event.currentTarget.closest("details");
        if (menu !== null) menu.open = false;
        onClick();
      }}
    >
      {children}
    </button>
  );
}
