import type { StateIndex } from "../state-index/state-index.ts";
import type { RemovalsOptions } from "../storage/removals.ts";

export interface SessionStoreOptions {
  readonly stateDirectory: string;
  /** What is known of the sessions; an empty one where none is given. */
  readonly index?: StateIndex;
  readonly owner: { readonly uid: number; readonly gid: number };
  /** Removes a directory tree of which a part is the owner's; throws when something is left after the limit. */
  readonly removeTree: RemovalsOptions["removeTree"];
  /** The same for a workspace that turnd has made. */
  readonly removeWorkspace: RemovalsOptions["removeTree"];
  /** Called for a directory that is no session: it is left alone. */
  readonly onUnreadable: (path: string, reason: string) => void;
  /** Called for the directory of the sessions where others may list it. */
  readonly onExposed: (path: string, error: unknown) => void;
  /** Called for a removed session of which something is left on the disk; it is tried again. */
  readonly onLeft: (path: string, error: unknown) => void;
}
