import * as z from "zod";
import { TicketQuery } from "./tickets.ts";
import { TurnStatus } from "./turns.ts";

/** An id in a path; a `:` in it is written `%3A`. Its form is checked, not whether it names something. */
const PathId = z.string().regex(/^(?!\.{1,2}$)[A-Za-z0-9._:-]{1,64}$/, "1 to 64 of letters, digits and . _ : -");

export const TurnPath = z.strictObject({ turn_id: PathId.describe("The turn's id.") });
export const ApprovalPath = TurnPath.extend({
  approval_id: PathId.describe("The approval, as in `approval.requested`."),
});
export const QuestionPath = TurnPath.extend({ question_id: PathId.describe("The request, as in `input.requested`.") });
export const SessionPath = z.strictObject({ session_id: PathId.describe("The id of the session, or of the shell.") });
export const RequestPath = z.strictObject({ request_id: PathId.describe("The `request_id` of a `POST /v1/turns`.") });
export const ExecutorPath = z.strictObject({ executor_id: PathId.describe("The executor's id, such as `cli-b`.") });

/**
 * Longest wait of `POST /v1/turns?wait_ms=`: an hour. The image's front would answer 504 after 3700 s
 * (sandbox/nginx.conf).
 */
const MAX_WAIT_MS = 3_600_000;

/** A number in a query. A refusal says what it must be, and never quotes what was sent. */
export const queryNumber = (least: number, most: number) => {
  const error = most === Infinity ? `a whole number, ${least} at least` : `a whole number from ${least} to ${most}`;
  const number = z.coerce.number({ error }).int({ error }).min(least, { error });
  return most === Infinity ? number : number.max(most, { error });
};

/** Query of `POST /v1/turns`. */
export const AdmitQuery = z.strictObject({
  wait_ms: queryNumber(0, MAX_WAIT_MS).optional().meta({
    description:
      "Wait so long for the turn's end: 200 with its result, or 202 with the turn's present state; the turn goes on.",
  }),
});

/** Headers of `POST /v1/turns` that are read; others are ignored. */
export const AdmitHeaders = z.looseObject({
  traceparent: z.string().optional().meta({
    description: "W3C Trace Context: the turn belongs to this trace. Ignored when malformed.",
  }),
});

/** Where a page of a list goes on. A wrong one is refused as `bad_cursor`, which names it. */
const PageCursor = z
  .string()
  .max(1_000)
  .meta({ description: "`next_cursor` of the page before; without it the first page." });

/** Query of `GET /v1/turns`. */
export const TurnsQuery = z.strictObject({
  session_id: PathId.optional().describe("Only turns of this session."),
  status: TurnStatus.optional().describe("Only turns of this status."),
  limit: queryNumber(1, 1000).default(100).describe("How many, the newest ones first."),
  cursor: PageCursor.optional(),
});

/** Query of `GET /v1/sessions`. */
export const SessionsQuery = z.strictObject({
  limit: queryNumber(1, 1000).default(1000).describe("How many, the newest ones first."),
  cursor: PageCursor.optional(),
});

/** `true` or `false` in a query, nothing else. */
export const queryFlag = () =>
  z.stringbool({ truthy: ["true"], falsy: ["false"], case: "sensitive", error: "true or false" });
/** A number in a query whose own refusal (`bad_cursor`) names what it must be. */
const CURSOR = { type: "integer", minimum: 0 } as const;

/** `named` of every stream of server-sent events. */
export const Named = queryFlag()
  .optional()
  .meta({
    type: "boolean",
    description:
      "SSE only: `false` leaves the `event:` lines out, so that an EventSource gives every event to `onmessage`; `data` has its " +
      "`type`. Only a failure of the stream itself keeps its name, `error`.",
  });

/** Query of `GET /v1/turns/{turn_id}/result`. */
export const ResultQuery = z.strictObject({
  explain: queryFlag()
    .optional()
    .meta({ type: "boolean", description: "`true` adds `decision.tried`: every rule that was tried, in order." }),
});

/** Query of `GET /v1/turns/{turn_id}/records`. */
export const RecordsQuery = z.strictObject({
  source: z.enum(["stdout", "stderr"]).default("stdout").describe("Which output to read."),
  from: queryNumber(1, Infinity).default(1).meta({ description: "The first line, 1-based." }),
  limit: queryNumber(1, 1000).default(100).meta({ description: "At most so many lines." }),
});

/** Query of `GET /v1/turns/{turn_id}/events`. */
export const EventsQuery = z.strictObject({
  after_seq: z
    .string()
    .optional()
    .meta({
      ...CURSOR,
      description: "Send the events with a greater `seq`. The header `Last-Event-ID` wins over it.",
    }),
  follow: queryFlag()
    .optional()
    .meta({ type: "boolean", description: "NDJSON only: go on until the turn has ended. SSE always does." }),
  named: Named,
  verbose: queryFlag().optional().meta({
    type: "boolean",
    description:
      "`false` sends slim events: no `native`, long fields cut and named in `truncated`, frames up to 64 KiB.",
  }),
  deltas: queryFlag()
    .optional()
    .meta({
      type: "boolean",
      description:
        "`false` leaves out what is provisional: `message.delta`, `reasoning.delta`, `message.discarded` and `tool.output`. Their " +
        "`seq` are not sent then.",
    }),
  ticket: TicketQuery.shape.ticket,
});

/** Query of `GET /v1/sessions/{session_id}/events`. */
export const SessionEventsQuery = z.strictObject({
  after: z.string().optional().meta({
    description: "`<turn_id>:<seq>`: send the events after that one. The header `Last-Event-ID` wins over it.",
  }),
  follow: EventsQuery.shape.follow,
  named: Named,
  verbose: EventsQuery.shape.verbose,
  deltas: EventsQuery.shape.deltas,
  ticket: TicketQuery.shape.ticket,
});

/** Headers of `GET /v1/turns/{turn_id}/events` that are read; others are ignored. */
export const EventsHeaders = z.looseObject({
  "last-event-id": z.string().optional().meta({
    description: "The `seq` of the last event a client has; sent by an EventSource that comes back.",
  }),
});
