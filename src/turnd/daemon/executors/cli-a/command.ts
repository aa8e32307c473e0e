import type { Invocation } from "../contract/invocation.ts";
import { readDetails, resolveModel } from "./config/details.ts";

/** Any title keeps the CLI from asking the model for one. Source: docs/contracts/cli-a.md §1.2. */
const TITLE = "turn";

/**
 * The arguments of one turn; the prompt is read from stdin.
 *
 * Every value is written with "=", so that none is taken for an option. `--file` takes every word after it, and stands
 * before an option.
 * @see docs/contracts/cli-a.md §2
 */
export function buildArgs(invocation: Invocation): string[] {
  const { configuration, mode, resume, effort, images } = invocation;
  const requested = invocation.model ?? configuration.model;
  const agent = mode === "plan" ? "plan" : invocation.agent;
  return [
    "run",
    ...images.map((path) => `--file=${path}`),
    "--format=json",
    "--print-logs",
    "--log-level=INFO",
    "--thinking",
    `--title=${TITLE}`,
    ...(resume === undefined ? [] : [`--session=${resume}`]),
    ...(requested === undefined ? [] : [`--model=${resolveModel(readDetails(configuration), requested)}`]),
    ...(agent === undefined ? [] : [`--agent=${agent}`]),
    ...(effort === undefined ? [] : [`--variant=${effort}`]),
  ];
}
