// Stands between a keeper and CLI A's server, which speaks HTTP and keeps what it says for no one: makes of it a server that is
// asked through its stdin, in lines, and that answers into its stdout, a file. It belongs to turnd's own user and outlives
// turnd, so that a held request and the stream of events do too. Laws: the recording is the transport; keys travel aside.
//
//   server-relay.mjs <command> [argument …]
//
// A line of stdin is one of
//   {"id","start":{"secrets":{NAME:value},"password":NAME,"user":name,"lists":{NAME:path}}}
//                                                                          starts the command, which reads the secrets from its stdin
//   {"id","ping":true}                                                     a sign of life
//   {"id","method","path","body"?,"keep"?:[member]}                         a request; of its answer's body only these members
//   {"id","settle":{"status":path,"from"?:{aggregate:seq}}}   waits until nothing runs, and fills the stream
// An id that was seen is not asked again, so that whoever is not sure can say it once more. Law: at most once.
//
// A line of stdout has `at`, milliseconds since 1970, and one of
//   id, status, body | id, error    the answer to a line of stdin
//   sync      a stored change, in the order of its `seq`, without a hole: what the stream lacked is asked for
//   event     anything else of the stream
//   lists     what the paths of `lists` give, after the stream had broken off
//   note      `reconnected`: events that are not stored may be missing; `gap`: stored ones too
//   printed   a line of the command's own stdout
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { writeSync } from "node:fs";
import http from "node:http";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";

const LISTENING = /listening on (http:\/\/127\.0\.0\.1:\d+)\s*$/;
/** The stream says that it lives every 10 s. */
const SILENT_MS = 25_000;
const RECONNECT_MS = 100;
/** For what the server answers at once. */
const ANSWER_MS = 10_000;
/** For a server that has answered a turn to say that it is idle. */
const IDLE_MS = 5_000;
const MAX_IDS = 10_000;
/** Each comes once more as `sync`, with its number. */
const STORED = /^(?:session\.(?:created|updated|deleted)|message\.(?:updated|removed|part\.(?:updated|removed)))$/;
/** Says nothing about any session. */
const UNTOLD = new Set([
  "catalog.updated",
  "integration.updated",
  "models-dev.refreshed",
  "plugin.added",
  "project.updated",
  "reference.updated",
  "server.connected",
  "server.heartbeat",
]);

const [program, ...args] = process.argv.slice(2);
/** @type {Map<string, string | undefined>} what was answered, by id; undefined while it is being done */
const answers = new Map();
/** @type {Map<string, number>} the first and the last `seq` that were printed, by aggregate */
const first = new Map();
const last = new Map();
let server;
const startedAt = Date.now();
let base = "";
let authorization = "";
let version = "";
/** What is in the stream and not printed yet. */
const queue = [];
let isPumping = false;
const onReady = Promise.withResolvers();
onReady.promise.catch(() => undefined);

function put(line) {
  const bytes = Buffer.from(`${line}\n`);
  try {
    for (let at = 0; at < bytes.length;) at += writeSync(1, bytes, at);
  } catch {
    // What cannot be recorded must not go on.
    server?.kill("SIGKILL");
    process.exit(74);
  }
}

function print(member) {
  put(`{"at":${Date.now()},${JSON.stringify(member).slice(1)}`);
}

function answer(id, result) {
  const line = JSON.stringify({ id, ...result }).slice(1);
  answers.set(id, line);
  put(`{"at":${Date.now()},${line}`);
}

/** @returns {Promise<{ status: number, body: unknown }>} */
function ask(method, path, body, limitMs) {
  const { promise, resolve, reject } = Promise.withResolvers();
  const data = body === undefined ? undefined : JSON.stringify(body);
  const headers = { authorization, ...(data === undefined ? {} : { "content-type": "application/json" }) };
  const request = http.request(`${base}${path}`, { method, agent: false, headers }, (response) => {
    const chunks = [];
    response.on("data", (chunk) => chunks.push(chunk));
    response.on("error", reject);
    response.on("end", () => {
      const text = Buffer.concat(chunks).toString("utf8");
      const isJson = response.headers["content-type"]?.includes("json") === true;
      try {
        resolve({
          status: response.statusCode ?? 0,
          body: isJson && text !== "" ? JSON.parse(text) : text.slice(0, 2_000),
        });
      } catch (error) {
        reject(error);
      }
    });
  });
  if (limitMs !== undefined) request.setTimeout(limitMs, () => request.destroy(new Error("no answer in time")));
  request.on("error", reject);
  request.end(data);
  return promise;
}

/** What is stored and was not printed, in order. */
async function fill(from) {
  const known = Object.fromEntries(last);
  const { status, body } = await ask("POST", "/sync/history", { ...known, ...from }, ANSWER_MS);
  if (status !== 200 || !Array.isArray(body)) throw new Error(`status ${status}`);
  const own = new Set([...last.keys(), ...Object.keys(from ?? {})]);
  const bySeq = Map.groupBy(
    body.toSorted((a, b) => a.seq - b.seq),
    ({ aggregate_id: aggregate }) => aggregate,
  );
  // An id begins with its time: among sessions that is the order, and within one `seq` is.
  for (const { aggregate_id: aggregateID } of body.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
    const { id, seq, type, data } = bySeq.get(aggregateID)?.shift() ?? {};
    // Of a session that nobody has named it comes in full: a subagent's of now is wanted, not those of earlier turns.
    const { parentID, time } = data?.info ?? {};
    if (String(type).startsWith("session.created") && own.has(parentID) && (time?.created ?? startedAt) >= startedAt) {
      own.add(aggregateID);
    }
    if (own.has(aggregateID)) printSync({ id, type, seq, aggregateID, data });
  }
}

function printSync(sync) {
  const { aggregateID, seq } = sync;
  const printed = last.get(aggregateID);
  if (printed !== undefined && seq <= printed && seq >= (first.get(aggregateID) ?? 0)) return;
  first.set(aggregateID, Math.min(seq, first.get(aggregateID) ?? seq));
  last.set(aggregateID, Math.max(seq, printed ?? seq));
  print({ sync });
}

async function pump() {
  if (isPumping) return;
  isPumping = true;
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    if (typeof next === "function") await next();
    else if (next.type === "sync") await takeSync(next.syncEvent);
    else if (!STORED.test(next.type) && !UNTOLD.has(next.type)) print({ event: next });
  }
  isPumping = false;
}

/** Whatever is done to the stream is done in its order. */
function enqueue(work) {
  const { promise, resolve, reject } = Promise.withResolvers();
  queue.push(() => work().then(resolve, reject));
  void pump();
  return promise;
}

async function takeSync({ id, type, seq, aggregateID, data }) {
  const before = last.get(aggregateID) ?? (type.startsWith("session.created") ? -1 : undefined);
  if (before !== undefined && before >= 0 && seq > before + 1) await fillOrNote();
  const filled = last.get(aggregateID);
  if (filled !== undefined && seq > filled + 1) print({ note: "gap" });
  printSync({ id, type, seq, aggregateID, data });
}

async function fillOrNote(from) {
  await fill(from).catch(() => print({ note: "gap" }));
}

/** Reads the stream for as long as the server runs. */
async function follow(lists) {
  for (
    let connections = 0;
    server !== undefined && server.exitCode === null && server.signalCode === null;
    connections += 1
  ) {
    await connect(async () => {
      if (connections === 0) return onReady.resolve(undefined);
      print({ note: "reconnected" });
      await fillOrNote();
      await printLists(lists);
    }).catch(() => undefined);
    await delay(RECONNECT_MS);
  }
}

/** Resolves when the stream has ended. */
function connect(onConnected) {
  const { promise, resolve, reject } = Promise.withResolvers();
  const headers = { authorization, accept: "text/event-stream" };
  const request = http.get(`${base}/global/event`, { agent: false, headers }, (response) => {
    let text = "";
    response.setEncoding("utf8");
    response.on("data", (chunk) => {
      text += chunk;
      const frames = text.split("\n\n");
      text = frames.pop() ?? "";
      for (const frame of frames) {
        const payload = readFrame(frame);
        if (payload?.type === "server.connected") queue.push(onConnected);
        else if (payload !== undefined) queue.push(payload);
      }
      void pump();
    });
    response.on("close", resolve);
  });
  request.setTimeout(SILENT_MS, () => request.destroy(new Error("silent")));
  request.on("error", reject);
  return promise;
}

function readFrame(frame) {
  const data = frame.slice(frame.indexOf("data:") + 5);
  try {
    return JSON.parse(data).payload;
  } catch {
    print({ printed: frame });
    return undefined;
  }
}

async function printLists(paths) {
  const lists = {};
  for (const [name, path] of Object.entries(paths)) {
    const found = await ask("GET", path, undefined, ANSWER_MS).catch(() => undefined);
    if (found?.status === 200) lists[name] = found.body;
  }
  print({ lists });
}

function start({ secrets, password, user, lists }) {
  const secret = randomBytes(24).toString("base64url");
  authorization = `Basic ${Buffer.from(`${user}:${secret}`).toString("base64")}`;
  server = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
  server.on("error", (error) => {
    process.stderr.write(`server-relay: ${error.message}\n`);
    process.exit(127);
  });
  server.on("exit", (code, signal) => void leave(code, signal));
  server.stdin.on("error", () => undefined);
  server.stdin.end(JSON.stringify({ ...secrets, [password]: secret }));
  createInterface({ input: server.stdout }).on("line", (line) => {
    const address = base === "" ? LISTENING.exec(line)?.[1] : undefined;
    if (address === undefined) return print({ printed: line });
    base = address;
    void follow(lists);
  });
}

/** It ends as its server has. */
async function leave(code, signal) {
  // What came last over the sockets.
  await delay(50);
  if (signal !== null) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  }
  process.exit(code ?? 1);
}

/** Waits until nothing runs: what a turn does last is in the stream then, and what is not comes of the store. */
async function settle({ status, from }) {
  const deadline = Date.now() + IDLE_MS;
  let busy = {};
  do {
    busy = (await ask("GET", status, undefined, ANSWER_MS)).body;
    if (Object.keys(busy).length === 0) break;
    await delay(20);
  } while (Date.now() < deadline);
  await enqueue(() => fillOrNote(from));
  return { status: 200, body: { busy: Object.keys(busy) } };
}

function pick(body, members) {
  if (members === undefined || typeof body !== "object" || body === null) return body;
  return Object.fromEntries(members.filter((name) => name in body).map((name) => [name, body[name]]));
}

async function perform(message) {
  const { method, path, body, keep } = message;
  if (message.start !== undefined) {
    if (server === undefined) start(message.start);
    const isAdopted = version !== "";
    await onReady.promise;
    const health = await ask("GET", "/global/health", undefined, ANSWER_MS);
    version = health.body.version ?? "";
    return { status: health.status, body: { version, isAdopted } };
  }
  if (message.ping === true) return ask("GET", "/global/health", undefined, ANSWER_MS);
  if (message.settle !== undefined) return settle(message.settle);
  const found = await ask(method, path, body);
  return { status: found.status, body: pick(found.body, keep) };
}

createInterface({ input: process.stdin }).on("line", (line) => {
  let message;
  try {
    message = JSON.parse(line);
  } catch {
    // What a turnd that was killed had not written to its end.
    return;
  }
  const { id } = message;
  if (answers.has(id)) {
    const said = answers.get(id);
    if (said !== undefined) put(`{"at":${Date.now()},${said}`);
    return;
  }
  answers.set(id, undefined);
  if (answers.size > MAX_IDS) answers.delete(answers.keys().next().value);
  perform(message).then(
    (result) => answer(id, result),
    (error) => answer(id, { error: error.message }),
  );
});

for (const name of ["SIGTERM", "SIGINT"]) {
  process.on(name, () => {
    if (server === undefined) process.exit(0);
    server.kill(name);
  });
}
