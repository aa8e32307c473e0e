import { defined } from "../../../../../kit/defined.ts";
import type { ApprovalDecision, ApprovalKind, ApprovalRequest, InputRequest } from "../../../../protocol/index.ts";
import type { AskAnswer } from "../../contract/interactive.ts";
import { PermissionAsked, QuestionAsked, type Change } from "./records.ts";

/** What the server asks a person. */
export type Asking =
  | {
      readonly kind: "approval";
      readonly id: string;
      readonly callId: string | undefined;
      readonly request: ApprovalRequest;
    }
  | { readonly kind: "input"; readonly id: string; readonly request: InputRequest };

const KINDS: Readonly<Record<string, ApprovalKind>> = {
  bash: "execute",
  codesearch: "network",
  edit: "edit",
  external_directory: "read",
  glob: "read",
  grep: "read",
  list: "read",
  read: "read",
  webfetch: "network",
  websearch: "network",
};
const CHOICES: ApprovalDecision[] = ["accept", "accept_for_session", "decline", "cancel"];
const MAX_TITLE_CHARACTERS = 200;

/** Reads what the server asks of a person; undefined for any other change. */
export function readAsking({ type, data }: Pick<Change, "type" | "data">): Asking | undefined {
  if (type === "permission.asked") return readPermission(data);
  return type === "question.asked" ? readQuestion(data) : undefined;
}

function readPermission(data: Change["data"]): Asking | undefined {
  const asked = PermissionAsked.safeParse(data).data;
  if (asked === undefined) return undefined;
  const { id, permission, patterns, metadata, tool } = asked;
  const kind = KINDS[permission] ?? "tool";
  const { command, diff } = metadata;
  const detail = defined({
    command: typeof command === "string" ? command : kind === "execute" ? patterns.join("\n") : undefined,
    paths: kind === "edit" || kind === "read" ? patterns : undefined,
    diff: typeof diff === "string" ? diff : undefined,
  });
  const title = shorten(detail.command ?? `${permission} ${patterns.join(", ")}`);
  return {
    kind: "approval",
    id,
    callId: tool?.callID,
    request: { approval_id: id, kind, title, detail, choices: CHOICES },
  };
}

function readQuestion(data: Change["data"]): Asking | undefined {
  const asked = QuestionAsked.safeParse(data).data;
  if (asked === undefined) return undefined;
  const questions = asked.questions.map(({ question, header, options, custom }, index) => ({
    id: `${index}`,
    ...(header === "" ? {} : { header }),
    text: question,
    options: options.map(({ label, description }) => ({ label, ...(description === "" ? {} : { description }) })),
    free_text: custom !== false,
    secret: false,
  }));
  return { kind: "input", id: asked.id, request: { question_id: asked.id, questions } };
}

/** How the server takes an answer. Source: docs/contracts/cli-a-server.md §7. */
export function toAnswer(asking: Asking, answer: AskAnswer): { readonly path: string; readonly body: object } {
  if (answer.kind === "approval") {
    return { path: `/permission/${asking.id}/reply`, body: REPLIES[answer.decision] };
  }
  const count = asking.kind === "input" ? asking.request.questions.length : 0;
  const answers = Array.from({ length: count }, (_, index) => answer.answers[`${index}`] ?? []);
  // What nobody has answered the model is told, and goes on: a rejection would end the run.
  return { path: `/question/${asking.id}/reply`, body: { answers } };
}

/** Without a message a rejection ends the run. */
const REPLIES: Readonly<Record<ApprovalDecision, object>> = {
  accept: { reply: "once" },
  accept_for_session: { reply: "always" },
  decline: { reply: "reject", message: "The user declined this. Do not try it in another way." },
  cancel: { reply: "reject" },
};

function shorten(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > MAX_TITLE_CHARACTERS ? `${line.slice(0, MAX_TITLE_CHARACTERS)}…` : line;
}
