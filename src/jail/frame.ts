/** What the jail program is told, in frames (native/jail/owner/serve.h). */

/** As native/jail/owner/serve.h numbers them. */
export const request = {
  jail: 1,
  command: 2,
  commandWithInput: 3,
  commandWithTerminal: 4,
  signal: 5,
  resize: 6,
  release: 7,
  overlays: 8,
} as const;

export function frame(id: number, kind: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(12);
  head.writeUInt32LE(8 + payload.length, 0);
  head.writeUInt32LE(id, 4);
  head.writeUInt32LE(kind, 8);
  return Buffer.concat([head, payload]);
}
