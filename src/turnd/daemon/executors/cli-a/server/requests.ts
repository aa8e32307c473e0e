import type { ConversationInput } from "../../contract/interactive.ts";
import { readDetails, resolveModel } from "../config/details.ts";

/** A request of turnd's to the server. */
export interface Request {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: object;
  /** Of the answer: all else of it is in the stream as well. */
  readonly keep?: readonly string[];
}

/** Any title keeps the CLI from asking the model for one. Source: docs/contracts/cli-a-server.md §4. */
const TITLE = "turn";

/** Whose directory a request is about: without it that is the server's. */
function inWorkspace(path: string, workspace: string): string {
  return `${path}?directory=${encodeURIComponent(workspace)}`;
}

/** Makes a session, or looks whether one is there. */
export function sessionRequest({ invocation: { resume, workspace } }: ConversationInput): Request {
  const keep = ["id", "name", "data"];
  return resume === undefined
    ? { method: "POST", path: inWorkspace("/session", workspace), body: { title: TITLE }, keep }
    : { method: "GET", path: inWorkspace(`/session/${resume}`, workspace), keep };
}

/** What distinguishes a turn's input: the same twice is one. */
export interface InputIds {
  readonly messageID: string;
  readonly partID: string;
}

/** Begins the turn; it is answered when the turn has ended. */
export function promptRequest(sessionId: string, ids: InputIds, input: ConversationInput): Request {
  const { invocation, prompt } = input;
  const { effort, mode, images } = invocation;
  const agent = mode === "plan" ? "plan" : invocation.agent;
  return {
    method: "POST",
    path: inWorkspace(`/session/${sessionId}/message`, invocation.workspace),
    body: {
      messageID: ids.messageID,
      ...modelOf(input),
      ...(agent === undefined ? {} : { agent }),
      ...(effort === undefined ? {} : { variant: effort }),
      parts: [
        { id: ids.partID, type: "text", text: prompt },
        ...images.map((path) => ({ type: "file", mime: mimeOf(path), filename: nameOf(path), url: `file://${path}` })),
      ],
    },
    keep: ["info", "name", "data"],
  };
}

export function abortRequest(sessionId: string, { invocation: { workspace } }: ConversationInput): Request {
  return { method: "POST", path: inWorkspace(`/session/${sessionId}/abort`, workspace) };
}

/** Answers what the server asks of a person. */
export function answerRequest(path: string, body: object, { invocation: { workspace } }: ConversationInput): Request {
  return { method: "POST", path: inWorkspace(path, workspace), body };
}

/** What waits for nothing to run any more, and has the stream completed. */
export function settleRequest(from: Readonly<Record<string, number>>, workspace: string): object {
  return { settle: { status: inWorkspace("/session/status", workspace), from } };
}

function modelOf({ invocation: { model, configuration } }: ConversationInput): object {
  const requested = model ?? configuration.model;
  const full = requested === undefined ? undefined : resolveModel(readDetails(configuration), requested);
  const [, providerID, modelID] = /^([^/]+)\/(.+)$/.exec(full ?? "") ?? [];
  return providerID === undefined ? {} : { model: { providerID, modelID } };
}

const MIMES: Readonly<Record<string, string>> = {
  gif: "image/gif",
  jpeg: "image/jpeg",
  jpg: "image/jpeg",
  png: "image/png",
  webp: "image/webp",
};

function nameOf(path: string): string {
  return path.split("/").at(-1) ?? path;
}

function mimeOf(path: string): string {
  return MIMES[path.split(".").at(-1)?.toLowerCase() ?? ""] ?? "application/octet-stream";
}
