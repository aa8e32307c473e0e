import type { Invocation } from "../../contract/invocation.ts";
import type { ConversationInput, GivenInput } from "../../contract/interactive.ts";
import { chooseSandboxMode, readDetails, type SandboxMode } from "../config/details.ts";
import { PROVIDER } from "../config/rendered-config.ts";
import { UNWANTED } from "./methods.ts";

/** A request of turnd's. */
export interface Request {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Members of `params` that do not stand in the turn's stdout: keys, and what has a file of its own. */
  readonly hidden?: readonly string[];
}

export const INITIALIZE: Request = {
  method: "initialize",
  params: {
    clientInfo: { name: "turnd", title: "turnd", version: "1" },
    capabilities: { experimentalApi: true, requestAttestation: false, optOutNotificationMethods: UNWANTED },
  },
};

/** What the levels of the sandbox are called in a turn's request. */
const SANDBOX_POLICIES: Readonly<Record<SandboxMode, string>> = {
  "danger-full-access": "dangerFullAccess",
  "read-only": "readOnly",
  "workspace-write": "workspaceWrite",
};

/** Begins a thread, or opens one that exists. Without `cwd`, which would have the server trust the repository. */
export function threadRequest({ invocation, isAsking }: ConversationInput): Request {
  const { resume } = invocation;
  const settings = {
    approvalPolicy: approvalPolicy(isAsking),
    sandbox: sandboxOf(invocation),
    config: keyConfig(invocation),
    ...(modelOf(invocation) === undefined ? {} : { model: modelOf(invocation) }),
  };
  const hidden = ["config"];
  return resume === undefined
    ? { method: "thread/start", params: settings, hidden }
    : { method: "thread/resume", params: { threadId: resume, excludeTurns: true, ...settings }, hidden };
}

/** Begins the turn. Everything that a turn may set is said each time: what is not said is as it was in the turn before. */
export function turnRequest(threadId: string, input: ConversationInput): Request {
  const { invocation, prompt, turnId, isAsking, outputSchema } = input;
  const { effort, images } = invocation;
  return {
    method: "turn/start",
    params: {
      threadId,
      clientUserMessageId: turnId,
      input: [{ type: "text", text: prompt }, ...images.map((path) => ({ type: "localImage", path }))],
      approvalPolicy: approvalPolicy(isAsking),
      sandboxPolicy: { type: SANDBOX_POLICIES[sandboxOf(invocation)] },
      ...(modelOf(invocation) === undefined ? {} : { model: modelOf(invocation) }),
      ...(effort === undefined ? {} : { effort }),
      ...(outputSchema === undefined ? {} : { outputSchema }),
    },
    hidden: ["input"],
  };
}

/** Has the running turn take in what another says; refused where it is not the one that runs. */
export function steerRequest(
  threadId: string,
  expectedTurnId: string,
  { turnId, prompt }: Pick<GivenInput, "turnId" | "prompt">,
): Request {
  const input = [{ type: "text", text: prompt }];
  return {
    method: "turn/steer",
    params: { threadId, expectedTurnId, clientUserMessageId: turnId, input },
    hidden: ["input"],
  };
}

export function interruptRequest(threadId: string, turnId: string): Request {
  return { method: "turn/interrupt", params: { threadId, turnId } };
}

/** Ends commands that the turn has left: the end of a turn does not. */
export function cleanRequest(threadId: string): Request {
  return { method: "thread/backgroundTerminals/clean", params: { threadId } };
}

/** What others have queued for the thread: the server would begin a turn with it by itself. */
export function queueRequest(threadId: string): Request {
  return { method: "thread/queue/list", params: { threadId } };
}

export function unqueueRequest(threadId: string, queuedSubmissionId: string): Request {
  return { method: "thread/queue/delete", params: { threadId, queuedSubmissionId } };
}

/** Whose inputs the server has taken. */
export function turnsRequest(threadId: string): Request {
  return { method: "thread/turns/list", params: { threadId, itemsView: "full" } };
}

function approvalPolicy(isAsking: boolean): string {
  return isAsking ? "untrusted" : "never";
}

function sandboxOf({ configuration, mode, permissions }: Invocation): SandboxMode {
  return chooseSandboxMode(readDetails(configuration).sandboxMode, mode, permissions);
}

function modelOf({ model, configuration }: Invocation): string | undefined {
  return model ?? configuration.model;
}

/** The key, where no tool sees it: neither in the environment nor in a file. Source: contract of the app server, §14.2. */
function keyConfig({ configuration }: Invocation): object {
  const details = readDetails(configuration);
  if (details.source !== "variables") return {};
  const key = configuration.env[details.settings.envKey];
  return { [`model_providers.${PROVIDER}.experimental_bearer_token`]: key };
}
