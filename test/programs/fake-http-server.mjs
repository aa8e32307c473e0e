// Plays the part of CLI A's server for tests of sandbox/server-relay.mjs: greets as it does, keeps changes with numbers, and does
// what a request to /test asks for. argv[2]: where it writes what it was given.
import { readFileSync, writeFileSync } from "node:fs";
import http from "node:http";

const secrets = JSON.parse(readFileSync(0, "utf8"));
writeFileSync(process.argv[2], JSON.stringify({ secrets, argv: process.argv, env: process.env }));
const password = `Basic ${Buffer.from(`user:${secrets.PASSWORD}`).toString("base64")}`;
const history = [];
const streams = new Set();
const seen = {};
let busy = {};

function send(payload) {
  for (const stream of streams) stream.write(`data: ${JSON.stringify({ directory: "/w", payload })}\n\n`);
}

/** Stores a change; `isLost`: the stream does not have it. */
function store({ session, type = "message.updated", info = {}, isLost = false }) {
  const seq = history.filter((entry) => entry.aggregate_id === session).length;
  const id = `evt_${String(history.length).padStart(6, "0")}`;
  const data = { sessionID: session, info: { id: session, ...info } };
  history.push({ id, aggregate_id: session, seq, type: `${type}.1`, data });
  if (isLost) return;
  send({ id, type, properties: data });
  send({ type: "sync", id, syncEvent: { id, type: `${type}.1`, seq, aggregateID: session, data } });
}

const TASKS = {
  store,
  send,
  busy: (now) => void (busy = now),
  drop: () => {
    for (const stream of streams) stream.destroy();
    streams.clear();
  },
  exit: ({ code }) => process.exit(code),
};

const server = http.createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = chunks.length === 0 ? {} : JSON.parse(Buffer.concat(chunks));
  const { pathname } = new URL(request.url, "http://127.0.0.1");
  seen[pathname] = (seen[pathname] ?? 0) + 1;
  const answer = (value, status = 200) =>
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
  if (request.headers.authorization !== password) return answer({}, 401);
  if (pathname === "/global/health") return answer({ healthy: true, version: "9.9.9" });
  if (pathname === "/global/event") {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('data: {"payload":{"type":"server.connected","properties":{}}}\n\n');
    streams.add(response);
    return;
  }
  if (pathname === "/sync/history")
    return answer(history.filter(({ aggregate_id: aggregate, seq }) => seq > (body[aggregate] ?? -1)));
  if (pathname === "/session/status") return answer(busy);
  if (pathname === "/permission") return answer([{ id: "per_1", permission: "bash" }]);
  if (pathname === "/seen") return answer(seen);
  if (pathname === "/page") return response.writeHead(200, { "content-type": "text/html" }).end("<html>");
  const task = TASKS[pathname.slice(1)];
  if (task === undefined) return answer({ name: "NotFoundError" }, 404);
  task(body);
  answer({ done: true, more: "much" });
});
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`server listening on http://127.0.0.1:${server.address().port}\nand this\n`);
});
