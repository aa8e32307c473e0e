import { z } from "zod";
import { defined } from "../../../../../kit/defined.ts";
import type { ApprovalDecision, ApprovalRequest, InputRequest } from "../../../../protocol/index.ts";
import { toToolCall } from "../translate/items.ts";
import { toToolItem } from "./items.ts";
import type { ServerRequest } from "./records.ts";

/** A text, or none: the server writes null for what is not there. */
const optional = z
  .string()
  .nullish()
  .catch(undefined)
  .transform((value) => value ?? undefined);
const Command = z.object({ itemId: z.string(), reason: optional, command: optional, cwd: optional });
const FileChange = z.object({ itemId: z.string(), reason: optional, grantRoot: optional });
const Permissions = z.object({ itemId: z.string(), reason: optional, cwd: optional, permissions: z.unknown() });
const META = "_meta";
const Elicitation = z.object({
  serverName: z.string(),
  message: optional,
  [META]: z.object({ tool_name: optional }).nullish(),
});
const UserInput = z.object({
  questions: z.array(
    z.object({
      id: z.string(),
      header: z.string().catch(""),
      question: z.string(),
      isOther: z.boolean().catch(false),
      isSecret: z.boolean().catch(false),
      options: z.array(z.object({ label: z.string(), description: z.string().catch("") })).nullish(),
    }),
  ),
});

/** What the server asks for, and how it takes the answer. */
export type Asking =
  | {
      readonly kind: "approval";
      readonly request: ApprovalRequest;
      readonly answer: (decision: ApprovalDecision) => object;
    }
  | { readonly kind: "input"; readonly request: InputRequest; readonly answer: (answers: Answers) => object }
  /** Nobody could answer it: it is refused at once, or the turn hangs. */
  | { readonly kind: "unknown" };

/** By question. */
export type Answers = Readonly<Record<string, readonly string[]>>;

const ALL: ApprovalDecision[] = ["accept", "accept_for_session", "decline", "cancel"];
const ONCE: ApprovalDecision[] = ["accept", "decline", "cancel"];
const MAX_TITLE_CHARACTERS = 200;

/** What the server calls a decision on a command or a patch. */
function toDecision(decision: ApprovalDecision): object {
  return { decision: decision === "accept_for_session" ? "acceptForSession" : decision };
}

/**
 * Reads what the server asks of a person.
 *
 * @param item - the item that it is about, as it was started
 */
export function readAsking({ id, method, params }: ServerRequest, item: unknown): Asking {
  const approvalId = `${id}`;
  switch (method) {
    case "item/commandExecution/requestApproval": {
      const { data } = Command.safeParse(params);
      if (data === undefined) return { kind: "unknown" };
      const { itemId, reason, cwd } = data;
      const tool = toToolItem(item, itemId);
      const call = tool === undefined ? undefined : toToolCall(tool);
      const command = data.command ?? (tool?.type === "command_execution" ? tool.command : undefined);
      const title = call?.title ?? shorten(command ?? "a command");
      return {
        kind: "approval",
        request: {
          approval_id: approvalId,
          kind: "execute",
          tool_call_id: itemId,
          title,
          detail: {
            ...defined({ command, cwd, reason }),
          },
          choices: ALL,
        },
        answer: toDecision,
      };
    }
    case "item/fileChange/requestApproval": {
      const { data } = FileChange.safeParse(params);
      if (data === undefined) return { kind: "unknown" };
      const tool = toToolItem(item, data.itemId);
      const changes = tool?.type === "file_change" ? tool.changes : [];
      const diff = changes.map(({ path, diff: text = "" }) => `--- ${path}\n+++ ${path}\n${text}`).join("");
      return {
        kind: "approval",
        request: {
          approval_id: approvalId,
          kind: "edit",
          tool_call_id: data.itemId,
          title: shorten(changes.map(({ kind, path }) => `${kind} ${path}`).join(", ") || "a change of files"),
          detail: {
            ...(changes.length === 0 ? {} : { paths: changes.map(({ path }) => path), diff }),
            ...defined({ reason: data.reason }),
          },
          choices: ALL,
        },
        answer: toDecision,
      };
    }
    case "item/permissions/requestApproval": {
      const { data } = Permissions.safeParse(params);
      if (data === undefined) return { kind: "unknown" };
      const { permissions } = data;
      return {
        kind: "approval",
        request: {
          approval_id: approvalId,
          kind: "tool",
          title: shorten(data.reason ?? "more permissions"),
          detail: { reason: JSON.stringify(permissions), ...defined({ cwd: data.cwd }) },
          choices: ONCE,
        },
        answer: (decision) => ({ permissions: decision === "accept" ? permissions : {}, scope: "turn" }),
      };
    }
    case "mcpServer/elicitation/request": {
      const { data } = Elicitation.safeParse(params);
      if (data === undefined) return { kind: "unknown" };
      const name = data[META]?.tool_name;
      return {
        kind: "approval",
        request: {
          approval_id: approvalId,
          kind: "tool",
          title: shorten(name === undefined ? data.serverName : `${data.serverName}: ${name}`),
          detail: defined({ reason: data.message }),
          choices: ONCE,
        },
        answer: (decision) => ({
          action: decision === "accept_for_session" ? "accept" : decision,
          content: null,
          _meta: null,
        }),
      };
    }
    case "item/tool/requestUserInput": {
      const { data } = UserInput.safeParse(params);
      if (data === undefined) return { kind: "unknown" };
      return {
        kind: "input",
        request: {
          question_id: approvalId,
          questions: data.questions.map(({ id: question, header, question: text, isOther, isSecret, options }) => ({
            id: question,
            ...(header === "" ? {} : { header }),
            text,
            options: (options ?? []).map(({ label, description }) => ({
              label,
              ...(description === "" ? {} : { description }),
            })),
            free_text: isOther || (options ?? []).length === 0,
            secret: isSecret,
          })),
        },
        answer: (answers) => ({
          answers: Object.fromEntries(Object.entries(answers).map(([key, given]) => [key, { answers: given }])),
        }),
      };
    }
    default:
      return { kind: "unknown" };
  }
}

function shorten(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > MAX_TITLE_CHARACTERS ? `${line.slice(0, MAX_TITLE_CHARACTERS)}…` : line;
}
