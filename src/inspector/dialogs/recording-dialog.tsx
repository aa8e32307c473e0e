import { useState } from "preact/hooks";
import { turnd } from "../connection.ts";
import { refreshList } from "../list/turn-list.ts";
import { readRecordingFiles } from "../recording/read-recording.ts";
import { goTo } from "../route.ts";
import { close, Dialog } from "./dialog.tsx";
import { isDialogOpen } from "./open-dialog.ts";

/** Opens a recording from the reader's disk and replays it. */
export function RecordingDialog() {
  if (isDialogOpen.value !== "recording") return null;
  return (
    <Dialog title="Open a recording">
      <RecordingForm />
    </Dialog>
  );
}

function RecordingForm() {
  const [fault, setFault] = useState("");
  const [isBusy, setBusy] = useState(false);

  async function open(files: readonly File[]): Promise<void> {
    if (files.length === 0) return;
    setBusy(true);
    setFault("");
    try {
      const recording = await readRecordingFiles(files);
      const admitted = await turnd.replay({ recording, speed: "max" });
      await refreshList();
      close();
      goTo(admitted.turn_id);
    } catch (error) {
      setFault(error instanceof Error ? error.message : String(error));
      setBusy(false);
    }
  }

  return (
    <div
      class="form drop"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void open([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <p>
        A recording is the JSON document that Export gives, or the files of a recording's directory together: turn.json,
        stdout.jsonl, stderr.log, exit.json. It is sent to this turnd, which replays it without running anything.
      </p>
      <label for="recording">Files, or drop them here</label>
      <input
        id="recording"
        type="file"
        multiple
        disabled={isBusy}
        accept=".json,.jsonl,.log,application/json"
        onChange={({ currentTarget }) => void open([...(currentTarget.files ?? [])])}
      />
      <p role="alert" class="fault">
        {fault}
      </p>
    </div>
  );
}
