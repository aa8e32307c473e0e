import { useLayoutEffect, useRef } from "preact/hooks";
import type { RefObject } from "preact";

/**
 * Shows a dialog over the page for as long as its component is mounted.
 *
 * The browser keeps the focus in it, and gives it back as it closes. Nothing else may do so: a reader who was quicker
 * has the focus where they put it. It is a layout effect: it closes the dialog while that is still in the page.
 */
export function useModal(): RefObject<HTMLDialogElement | null> {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return element;
}
