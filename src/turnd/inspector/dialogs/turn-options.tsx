import type { TurnRequestBody } from "../../client/turnd-client.ts";

/** Options of a new turn beside its prompt, CLI, mode and model. */
export interface TurnOptions {
  readonly workspace: string;
  readonly denied: readonly Permission[];
  readonly images: readonly File[];
  readonly hasDiff: boolean;
}

const PERMISSIONS = { edit: "change files", execute: "run commands", network: "use the network" } as const;
type Permission = keyof typeof PERMISSIONS;
const ALL: readonly Permission[] = ["edit", "execute", "network"];

export const NO_OPTIONS: TurnOptions = { workspace: "", denied: [], images: [], hasDiff: false };

/** The fields of the request. @throws {Error} for a file that cannot be read */
export async function toRequest(
  input: string,
  { workspace, denied, images, hasDiff }: TurnOptions,
): Promise<Pick<TurnRequestBody, "input" | "workspace" | "permissions" | "diff">> {
  const parts = await Promise.all(
    images.map(async (image) => ({ type: "image" as const, data_url: await toDataUrl(image) })),
  );
  return {
    input: parts.length === 0 ? input : [{ type: "text", text: input }, ...parts],
    ...(workspace.trim() === "" ? {} : { workspace: workspace.trim() }),
    ...(denied.length === 0 ? {} : { permissions: Object.fromEntries(denied.map((name) => [name, "deny" as const])) }),
    // Otherwise as TURND_TURN_DIFF says.
    ...(hasDiff ? { diff: true } : {}),
  };
}

function toDataUrl(file: File): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const reader = new FileReader();
  reader.addEventListener("load", () => resolve(typeof reader.result === "string" ? reader.result : ""));
  reader.addEventListener("error", () => reject(new Error(`${file.name} cannot be read`)));
  reader.readAsDataURL(file);
  return promise;
}

interface TurnOptionFieldsProps {
  readonly value: TurnOptions;
  onChange(value: TurnOptions): void;
  /** Whether the CLI takes images. */
  readonly hasImages: boolean;
}

/** Workspace, permissions, images and diff of a new turn. */
export function TurnOptionFields({ value, onChange, hasImages }: TurnOptionFieldsProps) {
  const { workspace, denied, hasDiff } = value;
  return (
    <>
      <label class="check">
        <input
          id="new-diff"
          type="checkbox"
          checked={hasDiff}
          onChange={({ currentTarget }) => onChange({ ...value, hasDiff: currentTarget.checked })}
        />{" "}
        Keep what it changes in its workspace, as a diff
      </label>
      <details>
        <summary>Workspace, permissions, images</summary>
        <div class="form">
          <label for="new-workspace">Workspace, an absolute path in the sandbox</label>
          <input
            id="new-workspace"
            placeholder="the session's"
            value={workspace}
            onInput={({ currentTarget }) => onChange({ ...value, workspace: currentTarget.value })}
          />
          <fieldset>
            <legend>It may</legend>
            {ALL.map((name) => (
              <label key={name} class="check">
                <input
                  id={`new-may-${name}`}
                  type="checkbox"
                  checked={!denied.includes(name)}
                  onChange={({ currentTarget }) =>
                    onChange({
                      ...value,
                      denied: currentTarget.checked ? denied.filter((other) => other !== name) : [...denied, name],
                    })
                  }
                />{" "}
                {PERMISSIONS[name]}
              </label>
            ))}
          </fieldset>
          <label for="new-images">Images{hasImages ? "" : ", which this CLI does not take"}</label>
          <input
            id="new-images"
            type="file"
            multiple
            accept="image/png,image/jpeg,image/gif,image/webp"
            disabled={!hasImages}
            onChange={({ currentTarget }) => onChange({ ...value, images: [...(currentTarget.files ?? [])] })}
          />
        </div>
      </details>
    </>
  );
}
