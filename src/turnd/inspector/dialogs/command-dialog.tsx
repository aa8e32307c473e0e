import { Dialog } from "./dialog.tsx";
import { isDialogOpen } from "./open-dialog.ts";

/** A command to be copied by hand, where the browser lets no page copy. */
export function CommandDialog() {
  const open = isDialogOpen.value;
  if (typeof open !== "object" || !("command" in open)) return null;
  return (
    <Dialog title="Copy this command">
      <div class="form">
        <p>The browser does not let this page copy. Select the command and copy it.</p>
        <textarea
          class="command"
          readOnly
          autoFocus
          rows={8}
          aria-label="Command"
          value={open.command}
          onFocus={({ currentTarget }) => currentTarget.select()}
        />
      </div>
    </Dialog>
  );
}
