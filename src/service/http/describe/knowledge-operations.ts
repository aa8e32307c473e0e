/** Rows of the knowledge base: what each operation is called, and what it does beyond its summary. */
export const KNOWLEDGE_OPERATIONS = {
  "GET /api/knowledge/databases": ["listKnowledgeBases", "By name. What one may only read is listed under `external`."],
  "POST /api/knowledge/databases": [
    "createKnowledgeBase",
    "Admins and superadmins. Without `share_config` every user reads, the creator and superadmins manage.",
  ],
  "GET /api/knowledge/databases/{kb_id}": ["getKnowledgeBase", "With its files counted by state."],
  "PUT /api/knowledge/databases/{kb_id}": [
    "updateKnowledgeBase",
    "Needs the `revision` that was read. Another embedding model needs `reindex` once files are indexed.",
  ],
  "DELETE /api/knowledge/databases/{kb_id}": [
    "deleteKnowledgeBase",
    "It is no longer found from then on; the task deletes its files, chunks and objects.",
  ],
  "POST /api/knowledge/files/upload": [
    "uploadKnowledgeFile",
    "Stores the bytes only. The address in `file_path` is good for 7 days, or as long as a file record names it.",
  ],
  "POST /api/knowledge/files/fetch-url": [
    "fetchKnowledgeUrl",
    "Hosts that `SERVICE_KB_URL_ALLOW` names, at public addresses, checked anew for every redirect. The page is an upload.",
  ],
  "GET /api/knowledge/files/supported-types": [
    "listSupportedTypes",
    "`available` is false where a program is missing on the server; such a file ends in an error when it is parsed.",
  ],
  "POST /api/knowledge/databases/{kb_id}/documents/add": [
    "addDocuments",
    "All or nothing. The same address twice is two records, unless `params.once` is true: then the call may be repeated.",
  ],
  "POST /api/knowledge/databases/{kb_id}/documents": [
    "importDocuments",
    "The task's success means that every file was visited; each file's `status` is its own outcome.",
  ],
  "POST /api/knowledge/databases/{kb_id}/documents/parse": [
    "parseDocuments",
    "All of the files or none. Takes files that are `uploaded` or `error_parsing`; with `force` all that no task holds.",
  ],
  "POST /api/knowledge/databases/{kb_id}/documents/index": [
    "indexDocuments",
    "All of the files or none. What was indexed before is found until the new index is whole.",
  ],
  "POST /api/knowledge/databases/{kb_id}/documents/parse-pending": [
    "parsePendingDocuments",
    "Any number of files. One such task per knowledge base: a second call joins it.",
  ],
  "POST /api/knowledge/databases/{kb_id}/documents/index-pending": [
    "indexPendingDocuments",
    "Any number of files. One such task per knowledge base: a second call joins it.",
  ],
  "GET /api/knowledge/databases/{kb_id}/documents": ["listDocuments", "With the files of every state counted."],
  "GET /api/knowledge/databases/{kb_id}/documents/{file_id}": [
    "getDocument",
    "`status` is the outcome of the file; `error` describes what to do about one that failed.",
  ],
  "GET /api/knowledge/databases/{kb_id}/documents/{file_id}/content": ["getDocumentContent", "Streamed."],
  "GET /api/knowledge/databases/{kb_id}/documents/{file_id}/download": ["downloadDocument", "As it was uploaded."],
  "GET /api/knowledge/databases/{kb_id}/documents/{file_id}/chunks": [
    "listDocumentChunks",
    "Those that queries find now, in the order of the text.",
  ],
  "DELETE /api/knowledge/databases/{kb_id}/documents/{file_id}": [
    "deleteDocument",
    "A task that works on the file goes on without it.",
  ],
  "POST /api/knowledge/databases/{kb_id}/documents/delete": [
    "deleteDocuments",
    "Ids that are not there are answered as `missing`.",
  ],
  "GET /api/knowledge/databases/external": ["listReadableKnowledgeBases", "For every user."],
  "GET /api/knowledge/databases/external/{kb_id}/files": [
    "listReadableFiles",
    "`query` looks at file names alone, not at their text.",
  ],
  "POST /api/knowledge/databases/external/{kb_id}/retrieve": [
    "retrieve",
    "`index` names what was searched. Each result opens at its `start_line` and `end_line`.",
  ],
  "GET /api/knowledge/databases/external/{kb_id}/files/{file_id}/open": [
    "openFile",
    "At most 1 800 lines a call; `next_offset` goes on.",
  ],
  "POST /api/knowledge/databases/external/{kb_id}/files/{file_id}/find": [
    "findInFile",
    "Matching lines in windows; `next_after_line` goes on. At most 2 s of search.",
  ],
} as const satisfies Readonly<Record<string, readonly [id: string, about: string]>>;
