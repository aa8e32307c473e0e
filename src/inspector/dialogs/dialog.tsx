import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { isDialogOpen } from "./open-dialog.ts";

/** A dialog over the page, which the browser itself keeps the focus in. */
export function Dialog({ title, children }: { readonly title: string; readonly children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    element.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog ref={element} aria-label={title} onClose={close}>
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
