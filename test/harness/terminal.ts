import { WebSocket } from "ws";
import type { ShellSession, TerminalMessage, TerminalSize } from "../../src/turnd/protocol/index.ts";
import type { TestDaemon } from "./daemon.ts";
import { fakeDaemon } from "./fake-daemon.ts";
import { waitFor } from "./wait-for.ts";

/** A daemon that serves the terminal, and where. */
export interface TerminalDaemon {
  readonly turnd: TestDaemon;
  readonly site: string;
}

/** Starts a daemon with the terminal's port on; stopped when the test is done. */
export async function terminalDaemon(env: Readonly<Record<string, string>> = {}): Promise<TerminalDaemon> {
  const turnd = await fakeDaemon({ TURND_TERMINAL_PORT: "0", ...env });
  return { turnd, site: siteOf(turnd) };
}

/** Where a daemon serves the terminal, from its log. */
export function siteOf(turnd: TestDaemon): string {
  const line = turnd.log.find((entry) => entry.includes('"msg":"terminal listening"'));
  if (line === undefined) throw new Error("the terminal does not listen");
  return JSON.parse(line).url;
}

/** Starts a shell over HTTP. */
export async function startShell(turnd: TestDaemon, body: Record<string, unknown> = {}): Promise<ShellSession> {
  const answer = await turnd.request("POST", "/v1/shell/sessions", body);
  if (answer.status !== 201) throw new Error(`${answer.status} ${answer.text}`);
  return answer.body;
}

/** Types a line into a shell over HTTP and waits for what a pattern names in what is printed from then on. */
export async function runLine(turnd: TestDaemon, id: string, line: string, wanted: RegExp): Promise<RegExpExecArray> {
  const path = `/v1/shell/sessions/${encodeURIComponent(id)}`;
  const { next_offset: from } = (await turnd.request("POST", `${path}/input`, { text: `${line}\r` })).body;
  return waitFor(`${wanted} after ${line}`, async () =>
    wanted.exec(plain((await turnd.request("GET", `${path}/output?after=${from}&wait_ms=1000`)).body.data)),
  );
}

/** Such as `ESC [ ? 2004 l`, with which bash leaves its line editor. */
const MODE_SWITCH = new RegExp(`${String.fromCodePoint(27)}\\[\\?\\d+[hl]\\r?`, "g");

/** What a terminal printed, without what switches its modes. */
export function plain(text: string): string {
  return text.replaceAll(MODE_SWITCH, "").replaceAll("\r\n", "\n");
}

/** The id of a new terminal that opens by itself. */
export async function newTerminal(turnd: TestDaemon, headers: Record<string, string> = {}): Promise<string> {
  const { body } = await turnd.request("GET", "/v1/shell/terminal-url", undefined, headers);
  return new URL(body.data).searchParams.get("session_id") ?? "";
}

/** Asks for a ticket as the page does. */
export async function askTicket(site: string, id: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${site}/terminal/tickets`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify({ session_id: id }),
  });
}

/** A viewer's end of the WebSocket. */
export interface TestViewer {
  readonly messages: TerminalMessage[];
  /** Everything printed since it was attached. */
  output(): Buffer;
  /** How many bytes that is, and the last of them. */
  bytes(): number;
  tail(): string;
  text(): string;
  type(text: string): void;
  resize(size: TerminalSize): void;
  /** Resolves when a pattern is found in the plain output. */
  shows(wanted: RegExp): Promise<RegExpExecArray>;
  /** Resolves when a message of that type has come. */
  hears<T extends TerminalMessage["type"]>(type: T): Promise<Extract<TerminalMessage, { type: T }>>;
  readonly socket: WebSocket;
  readonly closed: Promise<number>;
  close(): Promise<number>;
}

export interface ViewOptions {
  readonly size?: TerminalSize;
  readonly restart?: boolean;
  readonly headers?: Record<string, string>;
}

/** Opens a terminal as a viewer and waits until it is attached or refused. */
export async function view(site: string, id: string, options: ViewOptions = {}): Promise<TestViewer> {
  const answer = await askTicket(site, id, options.headers);
  const { ticket } = JSON.parse(await answer.text());
  const socket = connect(site, ticket);
  const { promise: closed, resolve } = Promise.withResolvers<number>();
  socket.on("close", resolve);
  const chunks: Buffer[] = [];
  let [count, last] = [0, Buffer.alloc(0)];
  const messages: TerminalMessage[] = [];
  socket.on("message", (data: Buffer, isBinary) => {
    if (isBinary) {
      chunks.push(data);
      count += data.length;
      last = Buffer.concat([last, data]).subarray(-1_000);
    } else messages.push(JSON.parse(data.toString("utf8")));
  });
  await opened(socket);
  socket.send(
    JSON.stringify({ type: "open", ...(options.size ?? { cols: 80, rows: 24 }), restart: options.restart ?? false }),
  );
  await waitFor("an answer", () => messages.length > 0);

  const output = (): Buffer => Buffer.concat(chunks);
  return {
    socket,
    messages,
    closed,
    output,
    bytes: () => count,
    tail: () => last.toString("utf8"),
    text: () => output().toString("utf8"),
    type: (text) => socket.send(Buffer.from(text)),
    resize: (size) => socket.send(JSON.stringify({ type: "resize", ...size })),
    shows: (wanted) => waitFor(String(wanted), () => wanted.exec(plain(output().toString("utf8")))),
    async hears<T extends TerminalMessage["type"]>(type: T) {
      const isWanted = (message: TerminalMessage): message is Extract<TerminalMessage, { type: T }> =>
        message.type === type;
      return waitFor(type, () => messages.find(isWanted));
    },
    async close() {
      socket.close();
      return closed;
    },
  };
}

/** A WebSocket with a ticket, as the page opens it. */
export function connect(site: string, ticket: string, headers: Record<string, string> = {}): WebSocket {
  return new WebSocket(`${site.replace("http", "ws")}/terminal/ws`, ["turnd.terminal", `ticket.${ticket}`], {
    headers,
  });
}

/** Resolves with the status when a WebSocket is refused, and with 101 when it is opened. */
export async function upgradeStatus(socket: WebSocket): Promise<number> {
  return new Promise((resolve, reject) => {
    socket.on("unexpected-response", (_request, response) => {
      resolve(response.statusCode ?? 0);
      response.resume();
      socket.terminate();
    });
    socket.on("open", () => {
      resolve(101);
      socket.terminate();
    });
    socket.on("error", reject);
  });
}

async function opened(socket: WebSocket): Promise<void> {
  await new Promise((resolve, reject) => {
    socket.on("open", resolve);
    socket.on("error", reject);
  });
}
