/** What the package `turnd-client` offers. Within the repository import the file that defines a name. */
export { TurndHistoryError, TurndProtocolError, TurndUnreachable, type HistoryFault } from "./errors.ts";
export type { FileContent } from "./file-content.ts";
export type { FileAt, FilesClient, FileWriteOptions, TurnPatch } from "./files.ts";
export type { Following, FollowOptions } from "./follow.ts";
export type { SessionFollowing, SessionFollowOptions } from "./follow-session.ts";
export type { ReadEvent, UnknownEvent, UnreadableEvent } from "./parse-event.ts";
export type { RetryOptions } from "./retry.ts";
export type { Incoming, Outgoing, OutgoingBody, Transport } from "./transport.ts";
export {
  createTurndClient,
  type CallOptions,
  type RecordsOptions,
  type ReplayRequestBody,
  type SessionRequestBody,
  type SubmitOptions,
  type TurndClient,
  type TurndClientOptions,
  type TurnRequestBody,
  type SessionsOptions,
  type TurnsOptions,
} from "./turnd-client.ts";
export type { WaitOptions } from "./wait.ts";
export { newRequestId } from "./request-id.ts";
export * from "../protocol/index.ts";
