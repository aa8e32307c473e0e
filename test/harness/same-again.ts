import { execa } from "execa";
import { expect, inject } from "vitest";
import { RecordingDocument } from "../../src/turnd/protocol/index.ts";
import type { Client } from "./client.ts";
import { withoutTimeAndIds } from "./recordings.ts";

/** The lines of a turn's events, followed to its end. */
export async function eventLines(turnd: Client, turnId: string): Promise<string> {
  return (await turnd.request("GET", `/v1/turns/${turnId}/events?follow=true`)).text;
}

/** Asserts that a turn's export gives its events again: over the API, complete and as files that grow, and by `turnd replay`. */
export async function expectSameAgain(turnd: Client, turnId: string): Promise<RecordingDocument> {
  const live = withoutTimeAndIds(await eventLines(turnd, turnId));
  const exported = await turnd.request("GET", `/v1/turns/${turnId}/recording`);
  expect(exported.status).toBe(200);
  const recording = RecordingDocument.parse(exported.body);
  for (const speed of ["max", 1_000_000]) {
    const { body } = await turnd.request("POST", "/v1/replays?wait_ms=60000", { recording, speed });
    expect(withoutTimeAndIds(await eventLines(turnd, body.turn_id))).toEqual(live);
  }
  const { stdout } = await execa(process.execPath, [inject("turnd"), "replay", "-"], { input: exported.text });
  expect(withoutTimeAndIds(stdout)).toEqual(live);
  return recording;
}
