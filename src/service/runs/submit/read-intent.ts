import { createHash } from "node:crypto";
import { v5 as uuid5, v7 as uuid7 } from "uuid";
import { canonicalJson } from "../../agents/manifest.ts";
import { Id } from "../../protocol/common.ts";
import { InputProblem, ValidationProblem } from "../../protocol/problems.ts";
import type { SubmitRunBody } from "../../protocol/runs.ts";
import { assertImagesFit, readImage } from "./images.ts";
import type { Intent } from "./intent.ts";

/** Of the default request ids of resumes. */
const RESUME_NAMESPACE = "6f6a3c1e-5c0f-5d0a-9c4e-2f1d7b8a9e10";

/** What the general run API asks, in one form. @throws {ApiProblem} */
export function readIntent(
  body: SubmitRunBody,
  given: { requestId?: string | undefined; traceparent?: string | undefined },
): Intent {
  const { request_id: _requestId, ...meta } = body.meta ?? {};
  const resume = Object.keys(body.resume ?? {}).length > 0 ? (body.resume ?? undefined) : undefined;
  const isResume = resume !== undefined;
  const query = body.query ?? "";
  const image = body.image_content ?? "";
  const images = image === "" ? [] : [readImage(image)];
  assertImagesFit(images);
  if (!isResume && query.trim() === "" && images.length === 0) {
    throw new InputProblem("query_required", ["body", "query"], "query is needed, or an image, or a resume");
  }
  const parent = body.created_by_run_id ?? undefined;
  if (isResume && parent === undefined) {
    throw new ValidationProblem([{ loc: ["body", "created_by_run_id"], msg: "needed with resume", type: "missing" }]);
  }
  return {
    source: "chat",
    requestId: given.requestId ?? (isResume ? resumeRequestId(body, parent ?? "") : uuid7()),
    threadId: body.thread_id,
    agentSlug: body.agent_slug,
    input: {
      query,
      images,
      ...(isResume ? { resume } : {}),
      ...(isResume && parent !== undefined ? { parent_run_id: parent } : {}),
    },
    options: {
      ...(typeof body.model_spec === "string" ? { model_spec: body.model_spec } : {}),
      ...(typeof body.tool_approval_mode === "string" ? { tool_approval_mode: body.tool_approval_mode } : {}),
      ...(typeof body.timeout_ms === "number" ? { timeout_ms: body.timeout_ms } : {}),
      ...(Object.keys(meta).length === 0 ? {} : { meta }),
    },
    queuePolicy: body.queue_policy ?? "enqueue",
    makesThread: false,
    traceparent: given.traceparent,
  };
}

/** A resume that is sent again without an id is the same request. */
function resumeRequestId(body: SubmitRunBody, parent: string): string {
  const image = createHash("sha256")
    .update(body.image_content ?? "")
    .digest("hex");
  return uuid5(canonicalJson([parent, body.resume, body.query ?? "", image]), RESUME_NAMESPACE);
}

/** The id that `meta` names. @throws {ValidationProblem} */
export function requestIdInMeta(meta: Readonly<Record<string, unknown>> | null | undefined): string | undefined {
  const id = meta?.["request_id"];
  if (id === undefined || id === null) return undefined;
  const parsed = Id.safeParse(id);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new ValidationProblem([
    { loc: ["body", "meta", "request_id"], msg: issue?.message ?? "not an id", type: issue?.code ?? "custom" },
  ]);
}
