/** Hands a file to the reader's browser, to be saved. */
export function saveAs(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name.replaceAll(/[^A-Za-z0-9._-]/g, "_");
  link.click();
  // After the browser has begun the download.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
