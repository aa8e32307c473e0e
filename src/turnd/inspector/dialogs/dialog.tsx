import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { isDialogOpen } from "./open-dialog.ts";
import { useModal } from "./use-modal.ts";

/** A modal dialog; the browser keeps the focus in it. */
export function Dialog({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  const element = useModal();
  const [mine] = useState(() => isDialogOpen.peek());
  /** Escape: the page closes it, so that it knows at once that none is open. */
  function onCancel(event: Event): void {
    event.preventDefault();
    close();
  }
  /** The browser's event comes a moment later, also for a dialog that it closed itself: another may be open by then. */
  function onClose(): void {
    if (element.current !== null && isDialogOpen.peek() === mine) close();
  }
  return (
    <dialog ref={element} aria-label={title} onCancel={onCancel} onClose={onClose}>
      <header>
        <h2>{title}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={close}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  );
}

/** Closes whichever is open. */
export function close(): void {
  isDialogOpen.value = undefined;
}
