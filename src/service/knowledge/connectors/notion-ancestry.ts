import { z } from "zod";
import { NOTION_HEADERS } from "./notion-headers.ts";
import type { Remote } from "./remote.ts";

/** What holds a page or a block. Source: Notion's API 2022-06-28, "Parent". */
export const Parent = z.object({
  type: z.string(),
  page_id: z.string().optional(),
  block_id: z.string().optional(),
  database_id: z.string().optional(),
});
type Parent = z.infer<typeof Parent>;

const Held = z.object({ parent: Parent });
const DEEPEST = 10;

/** Decides which pages are below the pages that a knowledge base is limited to. */
export function createAncestry(remote: Remote, roots: readonly string[] | undefined, signal: AbortSignal) {
  const wanted = new Set(roots?.map(plain));
  const asked = new Map<string, Promise<Parent>>();

  function parentOf(path: string): Promise<Parent> {
    let parent = asked.get(path);
    if (parent === undefined) {
      parent = remote
        .ask({ method: "GET", path, headers: NOTION_HEADERS, shape: Held }, signal)
        .then((held) => held.parent);
      asked.set(path, parent);
    }
    return parent;
  }

  return {
    /** What cannot be followed to one of the pages is outside. */
    async isInside(page: { readonly id: string; readonly parent: Parent }): Promise<boolean> {
      if (roots === undefined || wanted.has(plain(page.id))) return true;
      let parent = page.parent;
      for (let depth = 0; depth < DEEPEST; depth += 1) {
        if (wanted.has(plain(parent.page_id ?? ""))) return true;
        const path = pathOf(parent);
        if (path === undefined) return false;
        parent = await parentOf(path);
      }
      return false;
    },
  };
}

function pathOf({ page_id: page, block_id: block, database_id: database }: Parent): string | undefined {
  if (page !== undefined) return `/v1/pages/${encodeURIComponent(page)}`;
  if (block !== undefined) return `/v1/blocks/${encodeURIComponent(block)}`;
  return database === undefined ? undefined : `/v1/databases/${encodeURIComponent(database)}`;
}

/** The same id is written with and without dashes. */
function plain(id: string): string {
  return id.replaceAll("-", "").toLowerCase();
}
