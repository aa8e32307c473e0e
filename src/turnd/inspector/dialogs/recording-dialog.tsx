import { useEffect, useState } from "preact/hooks";
import { identifyOutput, turnd } from "../connection.ts";
import { refreshList } from "../list/turn-list.ts";
import { readDropped, readGiven } from "../recording/collect-files.ts";
import { readRecording } from "../recording/read-recording.ts";
import { goTo } from "../route.ts";
import { close, Dialog } from "./dialog.tsx";
import { dropped, isDialogOpen, type DroppedFiles } from "./open-dialog.ts";
import { useExecutors } from "./use-executors.ts";

/** Opens a recording from the reader's disk and replays it. */
export function RecordingDialog() {
  if (isDialogOpen.value !== "recording") return null;
  return (
    <Dialog title="Open a recording">
      <RecordingForm />
    </Dialog>
  );
}

/** Lets a recording be dropped anywhere on the page, which a browser would leave for the file. @returns what ends that */
export function listenToDrops(): () => void {
  const accept = (event: DragEvent): void => {
    if (event.dataTransfer?.types.includes("Files") === true) event.preventDefault();
  };
  const drop = (event: DragEvent): void => {
    if (event.dataTransfer?.types.includes("Files") !== true) return;
    event.preventDefault();
    dropped.value = readDropped(event.dataTransfer);
    isDialogOpen.value = "recording";
  };
  document.addEventListener("dragover", accept);
  document.addEventListener("drop", drop);
  return () => {
    document.removeEventListener("dragover", accept);
    document.removeEventListener("drop", drop);
  };
}

function RecordingForm() {
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);
  const [executor, setExecutor] = useState("");
  const executors = useExecutors();

  async function open(files: DroppedFiles): Promise<void> {
    setBusy(true);
    setFault("");
    try {
      const given = await readGiven(await files);
      const identify = async (lines: readonly string[]): Promise<string> =>
        executor === "" ? identifyOutput(lines) : executor;
      const admitted = await turnd.replay({ recording: await readRecording(given, { identify }), speed: "max" });
      await refreshList();
      close();
      goTo(admitted.turn_id);
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  }

  const given = dropped.value;
  useEffect(() => {
    if (given === undefined) return;
    dropped.value = undefined;
    void open(given);
  }, [given]);

  return (
    <div class="form drop" aria-busy={isBusy}>
      <p>
        What Export saved, a recording's directory or its files, the JSON lines that a CLI printed (stdout.jsonl), or an
        archive of one of these (.tgz, .zip). This turnd replays it; no CLI and no tool is run.
      </p>
      <label for="recording">Choose files, or drop files or a directory anywhere on the page</label>
      <input
        id="recording"
        type="file"
        multiple
        disabled={isBusy}
        onChange={({ currentTarget }) => {
          const files = [...(currentTarget.files ?? [])];
          // So that the same ones can be chosen again.
          currentTarget.value = "";
          if (files.length > 0) void open(Promise.resolve(files.map((file) => ({ path: file.name, file }))));
        }}
      />
      <label for="recording-executor">CLI, where only its output is there</label>
      <select
        id="recording-executor"
        value={executor}
        onChange={({ currentTarget }) => setExecutor(currentTarget.value)}
      >
        <option value="">found out from the output</option>
        {executors.map(({ id, name }) => (
          <option key={id} value={id}>
            {id} ({name})
          </option>
        ))}
      </select>
      <p role="status" class="muted">
        {isBusy ? "Opening …" : ""}
      </p>
      <p role="alert" class="fault">
        {fault}
      </p>
    </div>
  );
}
