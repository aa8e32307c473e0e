import { createSocket } from "node:dgram";
import { onTestFinished } from "vitest";

/** A name server on loopback. */
export interface NameServer {
  /** `address:port`. */
  readonly address: string;
  /** The names it was asked for addresses of IPv4, in order. */
  readonly questions: string[];
}

const A = 1;

/** Answers questions for IPv4 addresses; a name with several lists gives the next one each time it is asked. */
export async function startNameServer(zone: Readonly<Record<string, readonly string[][]>>): Promise<NameServer> {
  const socket = createSocket("udp4");
  const questions: string[] = [];
  socket.on("message", (query, from) => {
    const { name, type, end } = readQuestion(query);
    const lists = zone[name];
    let addresses: readonly string[] = [];
    if (type === A) {
      const asked = questions.filter((other) => other === name).length;
      questions.push(name);
      addresses = lists?.[Math.min(asked, lists.length - 1)] ?? [];
    }
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    // An answer, recursion done; 3: no such name.
    header.writeUInt16BE(0x8180 | (lists === undefined ? 3 : 0), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(addresses.length, 6);
    const records = addresses.map((address) =>
      // The name of the question, type A, class IN, no time to live, four bytes.
      Buffer.from([0xc0, 12, 0, A, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)]),
    );
    socket.send(Buffer.concat([header, query.subarray(12, end), ...records]), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => socket.close(() => resolve())));
  return { address: `127.0.0.1:${socket.address().port}`, questions };
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString("latin1", at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}
