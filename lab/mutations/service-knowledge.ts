import type { Mutation } from "./mutation.ts";

/** Faults of the knowledge base. */
export const SERVICE_KNOWLEDGE: readonly Mutation[] = [
  {
    id: "claim-of-a-file-not-compared",
    room: "knowledge/state",
    file: "src/service/knowledge/state/claims.ts",
    find: `    .where("claim_task", "=", owner.taskId)
    .where("claim_attempt", "=", owner.attempt)
    .returningAll()`,
    replace: "    .returningAll()",
    says: "A worker that has lost a file writes its result.",
    caughtBy: ["test/service/knowledge/work/states.property.db.test.ts > postgres"],
  },
  {
    id: "upload-without-managing",
    room: "knowledge/state",
    file: "src/service/knowledge/state/access.ts",
    find: "    if (!may(caller, PERMISSIONS.manageBase, base)) throw notManaged();\n    assertMayAny",
    replace: "    assertMayAny",
    says: "Who only reads a knowledge base uploads to it.",
    caughtBy: [
      "test/service/auth/permissions.db.test.ts",
      "test/service/knowledge/permissions.db.test.ts > every route answers every role",
    ],
  },
  {
    id: "chunk-line-off-by-one",
    room: "knowledge/indexing",
    file: "src/service/knowledge/indexing/chunk.ts",
    find: "    endLine: lineAt(lines, last.block, Math.max(last.end - 1, last.start)),",
    replace: "    endLine: lineAt(lines, last.block, last.end),",
    says: "A hit names the line behind its last.",
    caughtBy: ["test/service/knowledge/indexing/chunk.test.ts"],
  },
  {
    id: "window-behind-the-cursor",
    room: "knowledge/files",
    file: "src/service/knowledge/files/find-lines.ts",
    find: "line > search.afterLine",
    replace: "line >= search.afterLine",
    says: "The next page of matches begins with the last one's.",
    caughtBy: ["test/service/knowledge/files/find-lines.test.ts"],
  },
  {
    id: "page-of-any-host",
    room: "knowledge/uploads",
    file: "src/service/knowledge/uploads/fetch-url.ts",
    find: "return isAny || exact.has(host) || suffixes.some(",
    replace: "return isAny || exact.has(host) || host.length > 0 || suffixes.some(",
    says: "Pages are fetched from hosts that are not on the allow-list.",
    caughtBy: ["test/service/knowledge/uploads/fetch-url.db.test.ts"],
  },
  {
    id: "archive-of-any-size",
    room: "knowledge/parse",
    file: "src/service/knowledge/parse/archive.ts",
    find: "      if (bytes > RATIO_FROM && bytes > entry.compressedSize * MAX_RATIO) throw tooLarge(entry.fileName);\n",
    replace: "",
    says: "An archive that unpacks to much more than it is, is unpacked.",
    caughtBy: ["test/service/knowledge/parse/hostile.test.ts > unpacks to"],
  },
  {
    id: "child-of-any-memory",
    room: "knowledge/parse",
    file: "src/service/knowledge/parse/limits.ts",
    find: 'if (bytes > limitBytes) kill("memory");',
    replace: "peakBytes += 0;",
    says: "A parser takes more memory than it may.",
    caughtBy: ["test/service/knowledge/parse/limits.test.ts > too much memory"],
  },
];
