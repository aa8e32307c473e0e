const ADDRESS = /^kb:\/\/([^/]+)\/([0-9a-f-]{36})\/[^/]+$/;

/** The address of an object, as callers see it: opaque, and good only in its knowledge base. */
export function addressOf(kbId: string, objectKey: string, filename: string): string {
  return `kb://${kbId}/${objectKey.slice(3)}/${encodeURIComponent(filename)}`;
}

/** The object that an address of this knowledge base may name; undefined for what is none. */
export function objectKeyOf(kbId: string, address: string): string | undefined {
  const [, kb, id] = ADDRESS.exec(address) ?? [];
  return kb === kbId && id !== undefined ? `${id.slice(0, 2)}/${id}` : undefined;
}
