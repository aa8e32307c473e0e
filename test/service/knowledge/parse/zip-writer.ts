import { crc32, deflateRawSync } from "node:zlib";

/** A member as it is written, with what may be said wrongly about it. */
export interface MemberToWrite {
  readonly name: string;
  readonly data: Buffer | string;
  /** What the headers say is its size. */
  readonly claimedSize?: number;
  readonly isEncrypted?: boolean;
  /** Unix mode, for links. */
  readonly mode?: number;
  /** Points to the bytes of the member before. */
  readonly sharesBytes?: boolean;
}

/** Writes a zip, true or not. */
export function writeZip(members: readonly MemberToWrite[]): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  let before = { offset: 0, size: 0 };
  for (const member of members) {
    const name = Buffer.from(member.name);
    const data = Buffer.from(member.data);
    const packed = member.sharesBytes === true ? Buffer.alloc(0) : deflateRawSync(data, { level: 9 });
    const place = member.sharesBytes === true ? before : { offset, size: packed.length };
    const fields = Buffer.alloc(22);
    fields.writeUInt16LE((member.isEncrypted === true ? 1 : 0) | 0x800, 0);
    fields.writeUInt16LE(8, 2);
    fields.writeUInt32LE(crc32(data), 8);
    fields.writeUInt32LE(place.size, 12);
    fields.writeUInt32LE(member.claimedSize ?? data.length, 16);
    fields.writeUInt16LE(name.length, 20);
    const local = Buffer.concat([Buffer.from("PK\x03\x04\x14\0", "latin1"), fields, Buffer.alloc(2), name, packed]);
    const tail = Buffer.alloc(16);
    tail.writeUInt32LE(((member.mode ?? 0o100644) << 16) >>> 0, 8);
    tail.writeUInt32LE(place.offset, 12);
    directory.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x03\x14\0", "latin1"), fields, tail, name]));
    if (member.sharesBytes === true) continue;
    parts.push(local);
    before = place;
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(Math.min(members.length, 65_535), 8);
  end.writeUInt16LE(Math.min(members.length, 65_535), 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, central, end]);
}
