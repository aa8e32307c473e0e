/**
 * Moves the focus among the elements of a list, which are one stop of the Tab key together.
 *
 * Arrow up and down or k and j move by one, Home and End to the ends.
 */
export function moveFocus(event: KeyboardEvent, selector: string): void {
  const list = event.currentTarget;
  if (!(list instanceof HTMLElement) || event.ctrlKey || event.metaKey || event.altKey) return;
  const items = [...list.querySelectorAll<HTMLElement>(selector)];
  const at = items.findIndex((item) => item === document.activeElement);
  const to = target(event.key, at, items.length);
  const item = to === undefined ? undefined : items[to];
  if (item === undefined) return;
  event.preventDefault();
  for (const other of items) other.tabIndex = other === item ? 0 : -1;
  item.focus();
}

function target(key: string, at: number, count: number): number | undefined {
  if (key === "ArrowDown" || key === "j") return Math.min(count - 1, at + 1);
  if (key === "ArrowUp" || key === "k") return Math.max(0, at - 1);
  if (key === "Home") return 0;
  return key === "End" ? count - 1 : undefined;
}
