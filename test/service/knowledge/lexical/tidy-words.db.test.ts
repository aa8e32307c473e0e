import { expect, test } from "vitest";
import { waitFor } from "../../../harness/wait-for.ts";
import { openDesk } from "../../harness/knowledge.ts";
import { freshStorage } from "../../harness/storage.ts";

const DOCUMENTS = Object.fromEntries(
  Array.from({ length: 30 }, (_none, at) => [
    `${at}.md`,
    at === 0 ? "# Flutter\n\nFlutter of panels." : `# Heat ${at}\n\nHeat of bodies.`,
  ]),
);

// PostgreSQL counts words of live generations itself, and vacuums by itself.
test("words of a file that was indexed again and again weigh what they did, once the sweep has been there", async () => {
  const desk = await openDesk(await freshStorage("pglite"));
  const [first = "", ...others] = await desk.ingest(DOCUMENTS);
  const scoreOf = async (query: string): Promise<number> => {
    const { body } = await desk.ask("POST", `/api/knowledge/databases/external/${desk.kbId}/retrieve`, { query });
    return body.results[0].score;
  };
  const fresh = [await scoreOf("flutter"), await scoreOf("heat")];
  for (let time = 0; time < 6; time += 1) {
    const { body } = await desk.ask("POST", `${desk.path}/documents/index`, { file_ids: [first] });
    await desk.ended(body.task_id);
  }
  // What makes the sweep needed: should an engine count live chunks alone one day, it is needed no more.
  expect(await scoreOf("flutter")).toBeLessThan(0.6 * (fresh[0] ?? 0));
  await desk.knowledge.sweep();
  expect([await scoreOf("flutter"), await scoreOf("heat")]).toEqual(fresh.map((score) => expect.closeTo(score, 5)));
  await desk.knowledge.sweep();
  for (const id of others.slice(0, 20))
    expect((await desk.ask("DELETE", `${desk.path}/documents/${id}`)).status).toBe(200);
  // PostgreSQL's count of what was deleted is a second late.
  const before = await scoreOf("heat");
  await waitFor("the words of the deleted files to weigh nothing", async () => {
    await desk.knowledge.sweep();
    return (await scoreOf("heat")) > before || undefined;
  });
});
