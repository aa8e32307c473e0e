import { SHORTCUTS } from "../keyboard/shortcuts.ts";
import { Dialog } from "./dialog.tsx";
import { isDialogOpen } from "./open-dialog.ts";

/** What the keys do. */
export function HelpDialog() {
  if (isDialogOpen.value !== "help") return null;
  return (
    <Dialog title="Keyboard">
      <dl class="keys">
        {SHORTCUTS.map(({ keys, does }) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
