// The least that a program of Node does between an agent's line and a client: it parses the line, keeps it, and gives it to
// who follows. What the bench asks of sandbox-agent it answers in the same way; it is a yardstick, and nothing else.
import { spawn } from "node:child_process";
import { openSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { createInterface } from "node:readline";

const agent = spawn("opencode", ["acp"], { stdio: ["pipe", "pipe", "inherit"] });
const log = openSync(join(process.env["HOME"] ?? ".", "lines.jsonl"), "a");
const followers = new Set();
const asked = new Map();
createInterface({ input: agent.stdout }).on("line", (line) => {
  const { id } = JSON.parse(line);
  writeSync(log, `${line}\n`);
  for (const follower of followers) follower.write(`data: ${line}\n\n`);
  asked.get(id)?.end(line);
});

const server = createServer((request, response) => {
  if (request.url === "/v1/health" || request.method === "DELETE") response.end("{}");
  else if (request.method === "GET") {
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    followers.add(response.on("close", () => followers.delete(response)));
  } else {
    request.setEncoding("utf8").on("data", (body) => {
      asked.set(JSON.parse(body).id, response);
      agent.stdin.write(`${body}\n`);
    });
  }
});
server.listen(Number(process.argv.at(-1)), "127.0.0.1");
