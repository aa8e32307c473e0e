import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { isDialogOpen } from "./open-dialog.ts";

/** A dialog over the page, which the browser itself keeps the focus in. */
export function Dialog({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  const [mine] = useState(() => isDialogOpen.peek());
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  /** The browser says so a moment after it has closed it: another one may have been opened since. */
  function closeMine(): void {
    if (isDialogOpen.peek() === mine) close();
  }
  return (
    <dialog ref={element} aria-label={title} onClose={closeMine}>
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
