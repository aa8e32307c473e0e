import type { CliFeatures, FeatureQuestion } from "../../contract/cli-features.ts";
import type { Setting } from "./setting.ts";
import type { VersionedSetting } from "./setting.ts";

const ROW = /^(\S+) {2,}(\S.*?) {2,}(?:true|false)$/;

/** `features list` prints a row per feature: its name, its stage, whether it is on. Seen on 0.139.0 and 0.169.0. */
export const FEATURE_QUESTION: FeatureQuestion = {
  args: ["features", "list"],
  read(stdout) {
    const rows = stdout.split("\n").map((line) => ROW.exec(line.trimEnd()) ?? []);
    const features = rows.flatMap(([, name, stage]): [string, string][] =>
      name === undefined || stage === undefined ? [] : [[name, stage]],
    );
    return features.length === 0 ? undefined : Object.fromEntries(features);
  },
};

const FEATURE = /^features\./;

/**
 * The settings that a binary takes.
 *
 * @param features - undefined where the binary was not asked: then those that every measured version takes
 */
export function fitSettings(settings: readonly VersionedSetting[], features: CliFeatures | undefined): Setting[] {
  return settings.flatMap(({ path, value, isOptional, successor }) => {
    const stage = FEATURE.test(path) ? features?.[path.replace(FEATURE, "")] : undefined;
    if (successor !== undefined && (stage === "deprecated" || stage === "removed")) return [{ path: successor, value }];
    if (isOptional === true && (stage === undefined || stage === "removed")) return [];
    return [{ path, value }];
  });
}
