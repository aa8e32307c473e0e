import { useState } from "preact/hooks";
import { Mode, type ExecutorInfo } from "../../protocol/executors.ts";
import type { Tolerant } from "../../protocol/newer-words.ts";
import type { Session } from "../../protocol/sessions.ts";
import { turnd } from "../connection.ts";
import { refreshList } from "../list/turn-list.ts";
import { goTo } from "../route.ts";
import { close, Dialog } from "./dialog.tsx";
import { isDialogOpen } from "./open-dialog.ts";
import { NO_OPTIONS, toRequest, TurnOptionFields } from "./turn-options.tsx";
import { useExecutors } from "./use-executors.ts";

/** Starts a turn, in a new session or in one there is. */
export function NewTurnDialog() {
  const open = isDialogOpen.value;
  const session = typeof open === "object" && "newTurnIn" in open ? open.newTurnIn : undefined;
  if (open !== "new-turn" && session === undefined) return null;
  return (
    <Dialog title={session === undefined ? "New turn" : `New turn in session ${session.session_id}`}>
      <NewTurnForm session={session} />
    </Dialog>
  );
}

function NewTurnForm({
  session,
}: {
  readonly session: Pick<Tolerant<Session>, "session_id" | "executor"> | undefined;
}) {
  const executors = useExecutors();
  const [chosen, setChosen] = useState<string | undefined>(session?.executor);
  const [input, setInput] = useState("");
  const [mode, setMode] = useState("execute");
  const [model, setModel] = useState("");
  const [options, setOptions] = useState(NO_OPTIONS);
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);
  const executor = chosen ?? pickExecutor(executors);
  const info = executors.find(({ id }) => id === executor);
  const modes = info?.capabilities.modes ?? ["execute"];

  async function submit(event: Event): Promise<void> {
    event.preventDefault();
    setBusy(true);
    try {
      const admitted = await turnd.submit({
        ...(await toRequest(input, options)),
        ...(session === undefined
          ? { executor: executor ?? pickExecutor(await turnd.executors()) }
          : { session_id: session.session_id }),
        mode: Mode.options.find((known) => known === mode) ?? "execute",
        ...(model.trim() === "" ? {} : { model: model.trim() }),
      });
      await refreshList();
      close();
      goTo(admitted.turn_id);
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  }

  return (
    <form class="form" onSubmit={(event) => void submit(event)}>
      <label for="new-input">Prompt</label>
      <textarea
        id="new-input"
        rows={6}
        required
        autoFocus
        value={input}
        onInput={({ currentTarget }) => setInput(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit();
        }}
      />
      <div class="fields">
        <div>
          <label for="new-executor">CLI</label>
          <select
            id="new-executor"
            value={executor ?? ""}
            disabled={session !== undefined}
            onChange={({ currentTarget }) => setChosen(currentTarget.value)}
          >
            {executors.map(({ id, name, available }) => (
              <option key={id} value={id}>
                {id} ({name}){available ? "" : ", cannot run"}
              </option>
            ))}
            {executors.length === 0 && <option value={executor ?? ""}>{executor ?? "…"}</option>}
          </select>
        </div>
        <div>
          <label for="new-mode">Mode</label>
          <select id="new-mode" value={mode} onChange={({ currentTarget }) => setMode(currentTarget.value)}>
            {modes.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </div>
        <div>
          <label for="new-model">Model</label>
          <input
            id="new-model"
            placeholder="as configured"
            value={model}
            onInput={({ currentTarget }) => setModel(currentTarget.value)}
          />
        </div>
      </div>
      <TurnOptionFields value={options} onChange={setOptions} hasImages={info?.capabilities.images !== false} />
      {info?.unavailable !== undefined && <p class="fault">{info.unavailable.message}</p>}
      <p role="alert" class="fault">
        {fault}
      </p>
      <div class="buttons">
        <button type="submit" disabled={isBusy}>
          Start
        </button>
      </div>
    </form>
  );
}

/** The first one that can run, otherwise the first. */
function pickExecutor(executors: readonly Tolerant<ExecutorInfo>[]): string | undefined {
  return executors.find(({ available }) => available)?.id ?? executors[0]?.id;
}
