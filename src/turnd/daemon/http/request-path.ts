import { shellLabel } from "../terminal/shell-label.ts";

/** The path of a request's URL, without its query. */
export function pathOf(url: string): string {
  return url.split("?", 1)[0] ?? url;
}

const SHELL_ID = /(\/shell\/sessions\/)([^/]+)/i;

/** The path as it may be logged: a shell's id may be a link, so its label replaces it. Law: keys travel aside. */
export function loggedPath(url: string): string {
  return pathOf(url).replace(SHELL_ID, (_, before: string, id: string) => before + shellLabel(decode(id)));
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // No route has it; it is hidden anyway.
  }
}
