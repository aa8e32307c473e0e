/**
 * What an HTTP status means for the same call made again:
 *
 * - `busy`: refused before anything was done, for now.
 * - `gateway`: what stands before the server got no answer; the server may have done its work.
 * - `fault`: the server failed, and may have done its work.
 * - `lasting`: the server cannot do it, now or in a moment, such as with a full disk.
 * - `refused`: the call itself is wrong.
 * - `answered`: no refusal.
 */
export type StatusMeaning = "busy" | "gateway" | "fault" | "lasting" | "refused" | "answered";

/** What is not in it goes by its hundreds. 408 is also what a server that slept in the middle of a request answers. */
const MEANINGS: Readonly<Record<number, StatusMeaning>> = {
  408: "busy",
  425: "busy",
  429: "busy",
  501: "lasting",
  502: "gateway",
  503: "busy",
  504: "gateway",
  505: "lasting",
  507: "lasting",
};

/** The meaning of a status. */
export function readStatus(status: number): StatusMeaning {
  return MEANINGS[status] ?? (status >= 500 ? "fault" : status >= 400 ? "refused" : "answered");
}

/** Whether a call that is safe to repeat may have another answer in a moment. */
export function isPassingStatus(status: number): boolean {
  return isServerSide(status) && readStatus(status) !== "lasting";
}

/** Whether a refusal has its cause in the server, its load or what stands before it, and not in the call. */
export function isServerSide(status: number): boolean {
  return !["refused", "answered"].includes(readStatus(status));
}
