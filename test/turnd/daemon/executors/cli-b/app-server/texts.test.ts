import fc from "fast-check";
import { expect, test } from "vitest";
import { createTexts } from "../../../../../../src/turnd/daemon/executors/cli-b/app-server/texts.ts";
import { createHoldBack } from "../../../../../../src/turnd/daemon/event-log/redact.ts";
import type { TranslatedEvent } from "../../../../../../src/turnd/daemon/executors/contract/translator.ts";

const SECRET = "abca";
const native = { line: 1, type: "test" };
const step = fc.record({
  what: fc.constantFrom("delta", "delta", "delta", "complete", "retry", "steer"),
  item: fc.constantFrom("m1", "m2"),
  // Texts that begin a secret and do not end it, and ones that do.
  text: fc.string({ unit: fc.constantFrom("a", "b", "c", "é", "😀"), maxLength: 6 }),
  afterMs: fc.nat(400),
});

test("joined deltas are the text of their message, and what is withdrawn has none, whatever comes between", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.boolean(), (steps, hasEndLine) => {
      const texts = createTexts(createHoldBack([SECRET]));
      const written = new Map<string, string>();
      const events: TranslatedEvent[] = [];
      let atMs = 0;
      for (const { what, item, text, afterMs } of steps) {
        atMs += afterMs;
        if (what === "delta") {
          written.set(item, (written.get(item) ?? "") + text);
          events.push(...texts.delta("message", { itemId: item, delta: text, part: 0, atMs }, native));
        } else if (what === "complete") {
          const whole = { type: "agentMessage" as const, id: item, text: written.get(item) ?? text };
          events.push(...texts.complete(whole, native));
          written.delete(item);
        } else {
          events.push(...texts.discard(what === "retry" ? "retry" : "steer", native));
          written.clear();
        }
      }
      events.push(...texts.discard("ended", hasEndLine ? native : undefined));
      const shown = new Map<string, string>();
      const closed = new Set<string>();
      for (const event of events) {
        if (event.type === "message.delta") {
          const { message_id: id, text } = event.data;
          expect(closed).not.toContain(id);
          shown.set(id, (shown.get(id) ?? "") + text);
        } else if (event.type === "message" || event.type === "message.discarded") {
          const { message_id: id } = event.data;
          expect(closed).not.toContain(id);
          closed.add(id);
          if (event.type === "message" && shown.has(id)) expect(shown.get(id)).toBe(event.data.text);
        }
      }
      expect([...shown.keys()].filter((id) => !closed.has(id))).toEqual([]);
    }),
  );
});
