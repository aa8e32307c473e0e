import { randomUUID } from "node:crypto";
import { newId } from "../../../src/service/knowledge/state/new-id.ts";
import type { Storage } from "../../../src/service/storage/storage.ts";
import { call } from "./app.ts";
import { uploadFile } from "./knowledge.ts";
import { ADMINS, known, MAKER, type RouteRow, type World } from "./role-rows.ts";

const BASES = "/api/knowledge/databases";
/** Those who manage it, of a file that is not there. */
const UNKNOWN_FILE: RouteRow["statuses"] = [401, 403, 403, 404, 403, 404, 403];
const BOUNDARY = "boundary-of-the-parts";

/** Rows of the knowledge base, on one of an admin's that every user may read. */
export async function knowledgeRowsOf(storage: Storage, { app, admin }: World): Promise<readonly RouteRow[]> {
  const { token } = admin;
  const makeBase = async (): Promise<string> =>
    (await call(app, "POST", BASES, { name: randomUUID() }, { token })).body.database.kb_id;
  const kbId = await makeBase();
  const upload = async (): Promise<string> =>
    (await uploadFile(app, { filename: "a.md", content: randomUUID() }, { kbId, token })).body.file_path;
  const makeFile = async (): Promise<string> => {
    const body = { items: [await upload()] };
    const { items } = (await call(app, "POST", `${BASES}/${kbId}/documents/add`, body, { token })).body;
    return `${kbId}/${items[0].file_id}`;
  };
  /** As a parse leaves it, with the original for its Markdown. */
  const makeParsed = async (): Promise<string> => {
    const ids = await makeFile();
    await storage.db
      .updateTable("knowledge_file")
      .set(({ ref }) => ({ status: "parsed", markdown_key: ref("object_key"), markdown_bytes: ref("size"), lines: 1 }))
      .where("id", "=", ids.split("/")[1] ?? "")
      .execute();
    return ids;
  };
  const parsed = await makeParsed();
  const of = (): string => kbId;
  const item = await upload();
  const ids = { file_ids: [newId("file")] };
  return [
    { route: `GET ${BASES}`, statuses: known(200) },
    { route: `POST ${BASES}`, statuses: ADMINS, body: () => ({ name: randomUUID() }) },
    { route: `GET ${BASES}/{kb_id}`, statuses: MAKER, of },
    { route: `PUT ${BASES}/{kb_id}`, statuses: MAKER, of: makeBase, body: () => ({ revision: 1, name: randomUUID() }) },
    { route: `DELETE ${BASES}/{kb_id}`, statuses: MAKER, of: makeBase },
    {
      route: "POST /api/knowledge/files/upload",
      statuses: MAKER,
      query: `?kb_id=${kbId}`,
      headers: { "content-type": `multipart/form-data; boundary=${BOUNDARY}` },
      body: () =>
        Buffer.from(
          `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="b.md"\r\n\r\n${randomUUID()}\r\n--${BOUNDARY}--\r\n`,
        ),
    },
    // No page may be fetched here: those who may ask get that refusal, by the same status as those who may not.
    {
      route: "POST /api/knowledge/files/fetch-url",
      statuses: known(403),
      body: () => ({ kb_id: kbId, url: "http://127.0.0.1/" }),
    },
    { route: "GET /api/knowledge/files/supported-types", statuses: known(200) },
    { route: `POST ${BASES}/{kb_id}/documents/add`, statuses: MAKER, of, body: () => ({ items: [item] }) },
    { route: `POST ${BASES}/{kb_id}/documents`, statuses: MAKER, of, body: () => ({ items: [item] }) },
    { route: `POST ${BASES}/{kb_id}/documents/parse`, statuses: UNKNOWN_FILE, of, body: () => ids },
    { route: `POST ${BASES}/{kb_id}/documents/index`, statuses: UNKNOWN_FILE, of, body: () => ids },
    { route: `POST ${BASES}/{kb_id}/documents/parse-pending`, statuses: MAKER, of, body: () => ({}) },
    { route: `POST ${BASES}/{kb_id}/documents/index-pending`, statuses: MAKER, of, body: () => ({}) },
    { route: `GET ${BASES}/{kb_id}/documents`, statuses: MAKER, of },
    { route: `GET ${BASES}/{kb_id}/documents/{file_id}`, statuses: MAKER, of: () => parsed },
    { route: `GET ${BASES}/{kb_id}/documents/{file_id}/content`, statuses: MAKER, of: () => parsed },
    { route: `GET ${BASES}/{kb_id}/documents/{file_id}/download`, statuses: MAKER, of: () => parsed },
    { route: `GET ${BASES}/{kb_id}/documents/{file_id}/chunks`, statuses: MAKER, of: () => parsed },
    { route: `DELETE ${BASES}/{kb_id}/documents/{file_id}`, statuses: MAKER, of: makeFile },
    { route: `POST ${BASES}/{kb_id}/documents/delete`, statuses: MAKER, of, body: () => ids },
    { route: `GET ${BASES}/external`, statuses: known(200) },
    { route: `GET ${BASES}/external/{kb_id}/files`, statuses: known(200), of },
    { route: `POST ${BASES}/external/{kb_id}/retrieve`, statuses: known(200), of, body: () => ({ query: "x" }) },
    { route: `GET ${BASES}/external/{kb_id}/files/{file_id}/open`, statuses: known(200), of: () => parsed },
    {
      route: `POST ${BASES}/external/{kb_id}/files/{file_id}/find`,
      statuses: known(200),
      of: () => parsed,
      body: () => ({ patterns: ["x"] }),
    },
  ];
}
