import assert from "node:assert/strict";
import { test } from "node:test";
import { kernelReel, placeName } from "../../../fa_toolkit/viz/static/kernel_frames.js";
import { cellSize, extent } from "../../../fa_toolkit/viz/static/kernel_plates.js";

const PLATE = { name: "x_ptr", rows: 1, cols: 10, stored: false, ink: "s", axes: [-1, 0] };
const TABLE = { name: "", kernel: "k", programs: 2, labels: [""], read: 40, written: 0, plates: [PLATE] };
// two programs of two lines each; the second line loads eight lanes, of the second program two
const DATA = {
  a_line: Int32Array.of(3, 4, 3, 4), a_program: Int32Array.of(0, 0, 1, 1), a_label: new Uint8Array(4),
  a_visit: Int32Array.of(1, 3), a_kind: new Uint8Array(2), a_tensor: new Uint8Array(2), a_bytes: Uint32Array.of(32, 8),
  a_box: Int32Array.of(0, 1, 0, 8, 0, 1, 8, 10), a_start: Int32Array.of(0, 0, 0, 8), a_lanes: Int32Array.of(1, 8, 1, 8),
  a_off: Int32Array.of(0, 6), a_mask_at: Int32Array.of(0, 8, 16), a_mask: Uint8Array.from({ length: 16 }, (_, i) => Number(i < 10)),
  a_lines: Int32Array.of(0, 1, 2, 3, 4), a_programs: Int32Array.of(0, 2, 4),
};

test("a step knows the lines that ran and the accesses they made", () => {
  const reel = kernelReel(TABLE, DATA, "a", "lines");
  assert.equal(reel.last, 4);
  assert.deepEqual([0, 1, 2, 4, 9].map((step) => reel.span(step)), [
    { start: 0, stop: 0, first: 0, end: 0 }, { start: 0, stop: 1, first: 0, end: 0 }, { start: 1, stop: 2, first: 0, end: 1 },
    { start: 3, stop: 4, first: 1, end: 2 }, { start: 3, stop: 4, first: 1, end: 2 },
  ]);
  assert.deepEqual([1, 2, 3, 4].map(reel.question), [-1, -1, -1, 1]); // asked once, where lanes are off
  assert.deepEqual(kernelReel(TABLE, DATA, "a", "programs").span(2), { start: 2, stop: 4, first: 1, end: 2 });
  assert.equal(kernelReel(TABLE, DATA, "a", "programs").question(2), -1);
  assert.deepEqual(reel.sums.off, [0, 0, 6]);
  assert.deepEqual([...reel.block(1).mask], [1, 1, 0, 0, 0, 0, 0, 0]);
});

test("a plate has room for the lanes outside its tensor", () => {
  assert.deepEqual(extent(kernelReel(TABLE, DATA, "a", "lines"), 0), { rows: 1, cols: 16 });
});

test("elements are as large as all plates allow", () => {
  const sizes = Array(5).fill({ rows: 16, cols: 16 });
  for (const [width, height] of [[500, 320], [236, 320], [500, 900]]) {
    const cell = cellSize(sizes, width, height);
    assert.ok(cell >= 2 && cell <= 13);
    const across = Math.floor((width + 18) / (Math.max(16 * cell, 86) + 18));
    assert.ok(cell === 2 || Math.ceil(5 / across) * (16 * cell + 33) <= height, `${width} ${height} ${cell}`);
  }
  assert.equal(cellSize([{ rows: 1, cols: 4 }], 500, 320), 13);
  assert.equal(cellSize([{ rows: 4096, cols: 4096 }], 500, 320), 2);
});

test("places are written as code", () => {
  assert.equal(placeName(PLATE, [0, 1, 8, 10]), "x_ptr[8:10]");
  assert.equal(placeName({ ...PLATE, name: "q", axes: [2, 3] }, [4, 8, 0, 16]), "q[4:8, 0:16]");
  assert.equal(placeName({ ...PLATE, name: "lse", axes: [2, -1] }, [4, 8, 0, 1]), "lse[4:8]");
});
