import { spawn } from "node:child_process";

/**
 * Opens a page where there is a screen to open it on; whether it worked is for the person to see.
 *
 * @returns whether it was tried
 */
export function openBrowser(address: string, env: Readonly<Record<string, string | undefined>>): boolean {
  const url = URL.parse(address);
  // The address comes from the service: nothing but a page is opened.
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:")) return false;
  const isMac = process.platform === "darwin";
  const hasScreen = isMac || (env["DISPLAY"] ?? "") !== "" || (env["WAYLAND_DISPLAY"] ?? "") !== "";
  if (!hasScreen) return false;
  const child = spawn(isMac ? "open" : "xdg-open", [url.href], { stdio: "ignore", detached: true });
  // No such program: the address is on the screen.
  child.once("error", () => undefined);
  child.unref();
  return true;
}
