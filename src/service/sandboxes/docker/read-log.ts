const HEADER = 8;

/** The text of a container's log, whose frames each have eight bytes before them: stream, and length. @see Docker's API, ContainerAttach */
export function readLog(log: Buffer): string {
  const parts: Buffer[] = [];
  for (let at = 0; at + HEADER <= log.length;) {
    const length = log.readUInt32BE(at + 4);
    parts.push(log.subarray(at + HEADER, at + HEADER + length));
    at += HEADER + length;
  }
  return Buffer.concat(parts).toString("utf8").trim();
}
