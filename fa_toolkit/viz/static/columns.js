// @ts-check
// Typed arrays over the bytes that Python packed (viz/player/columns.py). Copies only what is unaligned.

const KINDS = { u1: Uint8Array, i4: Int32Array, u4: Uint32Array, f4: Float32Array, f8: Float64Array };

/**
 * @typedef {Uint8Array | Int32Array | Uint32Array | Float32Array | Float64Array} Column
 * @param {Record<string, [keyof typeof KINDS, number, number[]]>} layout
 * @param {DataView} view
 * @returns {Record<string, Column>}
 */
export function columns(layout, view) {
  /** @type {Record<string, Column>} */
  const found = {};
  for (const [name, [kind, offset, shape]] of Object.entries(layout)) {
    const Kind = KINDS[kind];
    const count = shape.reduce((product, side) => product * side, 1);
    const start = view.byteOffset + offset;
    const bytes = count * Kind.BYTES_PER_ELEMENT;
    const aligned = start % Kind.BYTES_PER_ELEMENT === 0;
    found[name] = aligned
      ? new Kind(view.buffer, start, count)
      : new Kind(view.buffer.slice(start, start + bytes), 0, count);
  }
  return found;
}
