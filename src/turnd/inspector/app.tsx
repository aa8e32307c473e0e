import { useSignalEffect } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { login, lookAtLogin, version } from "./connection.ts";
import { CommandDialog } from "./dialogs/command-dialog.tsx";
import { HelpDialog } from "./dialogs/help-dialog.tsx";
import { NewTurnDialog } from "./dialogs/new-turn-dialog.tsx";
import { hideNotice, isDialogOpen, notice } from "./dialogs/open-dialog.ts";
import { listenToDrops, RecordingDialog } from "./dialogs/recording-dialog.tsx";
import { listenToKeys } from "./keyboard/shortcuts.ts";
import { ListView } from "./list/list-view.tsx";
import { listState, turns, watchList } from "./list/turn-list.ts";
import { leave, LoginDialog, LoginPage } from "./login.tsx";
import { route } from "./route.ts";
import { visibleText } from "./text/visible.ts";
import { TurnPage } from "./turn/turn-page.tsx";

/** The whole page. */
export function App() {
  useEffect(() => void lookAtLogin(), []);
  switch (login.value) {
    case "unknown":
      return <main class="login" aria-busy="true" />;
    case "unreachable":
      return <Unreachable />;
    case "needed":
      return <LoginPage />;
    case "expired":
    case "open":
    case "done":
      return <Inspector />;
  }
}

function Unreachable() {
  return (
    <main class="login">
      <div>
        <h1>turnd</h1>
        <p role="alert">turnd does not answer.</p>
        <button type="button" onClick={() => void lookAtLogin()}>
          Try again
        </button>
      </div>
    </main>
  );
}

function Inspector() {
  useEffect(watchList, []);
  useEffect(listenToKeys, []);
  useEffect(listenToDrops, []);
  useSignalEffect(showTitle);
  const { turnId } = route.value;
  return (
    <div class={turnId === undefined ? "inspector" : "inspector has-turn"}>
      <header class="top">
        <h1>
          <a class="brand" href="#/">
            turnd
          </a>
        </h1>
        <span class="muted version">{version.value}</span>
        <span class="space" />
        <button type="button" id="new-turn" onClick={() => (isDialogOpen.value = "new-turn")}>
          New turn
        </button>
        <button type="button" class="second" onClick={() => (isDialogOpen.value = "recording")}>
          Open recording
        </button>
        <button type="button" class="quiet" aria-label="Keyboard help" onClick={() => (isDialogOpen.value = "help")}>
          ?
        </button>
        {login.value === "done" && (
          <button type="button" class="quiet" onClick={leave}>
            Log out
          </button>
        )}
      </header>
      <Faults />
      <ListView />
      {turnId === undefined ? (
        <main class="turn nothing">
          <p class="muted">Choose a turn, or start one.</p>
        </main>
      ) : (
        <TurnPage key={turnId} turnId={turnId} />
      )}
      <div class="notice-place" role="status">
        {notice.value !== undefined && <Notice {...notice.value} />}
      </div>
      <HelpDialog />
      <NewTurnDialog />
      <RecordingDialog />
      <CommandDialog />
      {login.value === "expired" && <LoginDialog />}
    </div>
  );
}

function Notice({ text, isFault }: { readonly text: string; readonly isFault: boolean }) {
  if (!isFault) return <p class="notice">{text}</p>;
  return (
    <p class="notice bad">
      <span>{text}</span>
      <button type="button" class="quiet small" aria-label="Close the notice" onClick={hideNotice}>
        ✕
      </button>
    </p>
  );
}

/** What keeps the page from being up to date. */
function Faults() {
  const { fault } = listState.value;
  return (
    <p role="alert" class="banner">
      {fault}
    </p>
  );
}

/** Shows in the tab's title how many turns run. */
function showTitle(): void {
  const running = turns.value.filter(({ status }) => status === "running").length;
  const shown = turns.value.find(({ turn_id: id }) => id === route.value.turnId);
  const name =
    shown === undefined ? "turnd" : `${visibleText(shown.input_excerpt ?? shown.turn_id).slice(0, 60)} · turnd`;
  document.title = running === 0 ? name : `(${running}) ${name}`;
}
