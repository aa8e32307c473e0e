import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CASES, resolveUrl } from "./provider.ts";
import { NO_INTERNET, PACKAGES, SWITCHES, type Cli } from "./run-cli.ts";
import type { Places, Scene, SceneConfig } from "./scene.ts";

/** What all scenes of one run share. */
export interface Stage {
  readonly cli: Cli;
  /** Of the providers of `provider.ts`. */
  readonly origin: string;
  readonly tls: string;
  /** Directory of `rg`, which the CLI looks up on PATH. */
  readonly toolsDirectory?: string;
}

/** Writes the configuration of a scene, which names its provider. */
export function writeConfig(stage: Stage, scene: Scene, places: Places, modelUrl: string): void {
  const provider = CASES.find(({ name }) => name === scene.provider);
  if (scene.provider !== undefined && provider === undefined) throw new Error(`no provider ${scene.provider}`);
  const baseURL = provider === undefined ? modelUrl : resolveUrl(provider.baseUrl, stage);
  const config: SceneConfig = {
    model: "lab/m",
    small_model: "lab/m",
    enabled_providers: ["lab"],
    share: "disabled",
    autoupdate: false,
    provider: {
      lab: {
        npm: PACKAGES[scene.api ?? "chat"],
        name: "lab",
        options: { baseURL, apiKey: "FAKE-KEY" },
        models: { m: {} },
      },
    },
    permission: { "*": "allow" },
  };
  scene.config?.(config, places);
  mkdirSync(join(places.configFile, ".."), { recursive: true });
  writeFileSync(places.configFile, JSON.stringify(config));
}

/** The environment of the CLI. */
export function toEnv(base: string, { home }: Places, { toolsDirectory }: Stage): Record<string, string> {
  const xdg = { DATA: "data", CONFIG: "config", CACHE: "cache", STATE: "state" };
  return {
    PATH: `${toolsDirectory === undefined ? "" : `${toolsDirectory}:`}/usr/local/bin:/usr/bin:/bin`,
    HOME: home,
    TMPDIR: join(base, "tmp"),
    ...NO_INTERNET,
    ...Object.fromEntries(Object.entries(xdg).map(([name, folder]) => [`XDG_${name}_HOME`, join(home, folder)])),
    ...SWITCHES,
  };
}
