/** Copies a text, on pages of plain HTTP too. @returns whether the browser did */
export async function copyText(text: string): Promise<boolean> {
  try {
    // Only pages by HTTPS or of loopback have it.
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text);
  }
}

/** As pages did before: a selection can be copied anywhere, while a click is handled. */
function copySelected(text: string): boolean {
  const field = document.createElement("textarea");
  const before = document.activeElement;
  field.value = text;
  field.className = "visually-hidden";
  document.body.append(field);
  field.select();
  // Deprecated, and the one way there is where navigator.clipboard is missing.
  const isCopied = document.execCommand("copy");
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return isCopied;
}
