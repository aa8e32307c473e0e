import { ModelSpec } from "../protocol/agents.ts";
import { InputProblem } from "../protocol/problems.ts";

const LOC = ["body", "model_spec"];

/** The models that an agent's entry names. */
export interface ModelRules {
  readonly model_spec: string | null;
  readonly allowed_models: string[] | null;
}

/**
 * The model of a run: the caller's where one is given, else the agent's, else the sandbox's own.
 *
 * @throws {ApiProblem} model_unknown for a malformed one, and one that the agent does not allow
 */
export function modelOf(agent: ModelRules, override: string | null | undefined): string | null {
  const spec = override ?? agent.model_spec;
  if (spec === null) return null;
  if (!ModelSpec.safeParse(spec).success) {
    throw new InputProblem("model_unknown", LOC, `model_spec is provider_id:model_id, got ${JSON.stringify(spec)}`);
  }
  if (agent.allowed_models !== null && !agent.allowed_models.includes(spec)) {
    throw new InputProblem("model_unknown", LOC, `the agent does not allow the model ${spec}`, {
      allowed_models: agent.allowed_models,
    });
  }
  return spec;
}

/** turnd's `model` for a CLI. */
export function turndModel(executor: "cli-a" | "cli-b", spec: string): string {
  const at = spec.indexOf(":");
  const [provider, model] = [spec.slice(0, at), spec.slice(at + 1)];
  return executor === "cli-a" ? `${provider}/${model}` : model;
}
