import { defined } from "../../../../../kit/defined.ts";
import type { Native } from "../../../../protocol/index.ts";
import type { TranslatedEvent } from "../../contract/translator.ts";
import { readAsking } from "./approvals.ts";
import type { Answered, MessageId, ServerRequest } from "./records.ts";

/** What the server asked of a person in one turn, and what has been answered. */
export interface Asks {
  /** @param item - the item that it is about, as it was started; `name` is what the turn calls it */
  ask(
    request: ServerRequest,
    about: { readonly item: unknown; readonly name: string | undefined },
    native: Native,
  ): TranslatedEvent[];
  answer(answered: Answered, native: Native): TranslatedEvent[];
  isIdle(): boolean;
}

/** Follows what the server asks in one turn. */
export function createAsks(): Asks {
  const open = new Map<MessageId, "approval" | "input">();
  return {
    ask(request, { item, name }, native) {
      const asking = readAsking(request, item);
      if (asking.kind === "unknown") return [];
      open.set(request.id, asking.kind);
      if (asking.kind === "input") return [{ type: "input.requested", data: asking.request, native }];
      const call = name === undefined ? {} : { tool_call_id: name };
      return [{ type: "approval.requested", data: { ...asking.request, ...call }, native }];
    },
    answer({ id, decision = "decline", note, by }, native) {
      const kind = open.get(id);
      open.delete(id);
      if (kind === undefined) return [];
      if (kind === "input") return [{ type: "input.answered", data: { question_id: `${id}`, by }, native }];
      return [
        { type: "approval.resolved", data: { approval_id: `${id}`, decision, by, ...defined({ note }) }, native },
      ];
    },
    isIdle: () => open.size === 0,
  };
}
