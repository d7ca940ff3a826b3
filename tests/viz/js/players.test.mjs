import assert from "node:assert/strict";
import { test } from "node:test";
import { columns } from "../../../fa_toolkit/viz/static/columns.js";
import { levels, MOST_CELLS, pooled, pooling } from "../../../fa_toolkit/viz/static/heat.js";
import { counted, duration, weight } from "../../../fa_toolkit/viz/static/numbers.js";
import { PLANE, planeLayout, rectangle, runs } from "../../../fa_toolkit/viz/static/plane.js";
import { interval } from "../../../fa_toolkit/viz/static/player.js";
import { cumulative, edges, race } from "../../../fa_toolkit/viz/static/race.js";
import { flashWalk, keySpans, rowSpans, standardWalk } from "../../../fa_toolkit/viz/static/walk.js";

const SIZES = { lenQ: 8, lenK: 8, d: 4, blockM: 4, blockN: 2, causal: true, itemsize: 2 };

test("columns are read where they lie, aligned or not", () => {
  const bytes = new Uint8Array(24);
  new DataView(bytes.buffer).setFloat64(8, 2.5, true);
  new DataView(bytes.buffer).setInt32(17, -3, true);
  const found = columns({ a: ["f8", 8, [1]], b: ["i4", 17, [1]], c: ["u1", 0, [0]] }, new DataView(bytes.buffer));
  assert.deepEqual([found.a[0], found.b[0], found.c.length], [2.5, -3, 0]);
  const shifted = new DataView(bytes.buffer, 1);
  assert.equal(columns({ b: ["i4", 16, [1]] }, shifted).b[0], -3);
});

test("small tiles join into runs, large ones stand apart", () => {
  const on = (i) => i !== 2;
  assert.equal(runs({ x: 0, y: 0, w: 5, h: 5 }, 1, 4, on), rectangle(0, 0, 10, 5) + rectangle(15, 0, 5, 5));
  assert.equal(runs({ x: 0, y: 0, w: 40, h: 40 }, 1, 2, () => true).split("M").length - 1, 2);
  assert.equal(runs({ x: 0, y: 0, w: 5, h: 5 }, 2, 2, () => false), "");
});

test("the plane stays inside its picture for one tile and for thousands", () => {
  const strips = [{ tensor: "Q", side: "left", tiles: 1 }, { tensor: "dQ", side: "right", tiles: 1 }];
  for (const [rows, cols] of [[1, 1], [4, 4], [64, 64], [1, 512], [512, 1]]) {
    const at = planeLayout(rows, cols, strips);
    assert.ok(at.w * cols <= PLANE + 1e-9 && at.h * rows <= PLANE + 1e-9);
    assert.ok(at.places.dQ.x + at.places.dQ.w <= 396);
  }
});

test("numbers become levels between their ends; what is not finite has none", () => {
  assert.deepEqual([...levels([0, 0.5, 1, -Infinity, NaN], [0, 1])], [0, 5, 9, -1, -1]);
  assert.deepEqual([...levels([3, 3], [3, 3])], [0, 0]);
});

test("a tile with too many numbers is averaged, its infinities left out", () => {
  assert.equal(pooling(MOST_CELLS), 1);
  assert.equal(pooling(MOST_CELLS + 1), 2);
  const small = pooled({ rows: 2, cols: 2, data: [1, 3, -Infinity, -Infinity] }, 1, 2);
  assert.deepEqual([...small.data], [2, -Infinity]);
});

test("labels count bytes in full while they are few", () => {
  assert.equal(weight(4608), "4,608 B");
  assert.equal(weight(65536), "64 KiB");
  assert.equal(counted(1234567), "1,234,567");
  assert.deepEqual([duration(2), duration(1.5e-3), duration(4.2e-7), duration(5e-10)], ["2 s", "1.5 ms", "420 ns", "0.5 ns"]);
});

test("play is calm for a few steps and quick for thousands", () => {
  assert.equal(interval(14, 1), 1600);
  assert.equal(interval(14, 4), 400);
  assert.ok(interval(4096, 1) <= 40);
});

test("rows and keys meet by the bottom-right rule", () => {
  assert.deepEqual(keySpans(SIZES, [0, 4]), [[0, 2], [2, 4]]);
  assert.deepEqual(keySpans({ ...SIZES, lenQ: 1 }, [0, 1]).length, 4);
  assert.deepEqual(keySpans({ ...SIZES, lenK: 4 }, [0, 4]), []); // these rows see no key
  assert.deepEqual(rowSpans(SIZES, [6, 8]), [[4, 8]]);
});

test("both walks run on one clock and end together", () => {
  const walks = [standardWalk(SIZES), flashWalk(SIZES)];
  for (const detail of ["programs", "tiles"]) {
    const run = race(walks, detail);
    assert.equal(run.leader, 0);
    for (let f = 0; f < run.frames; f++) assert.ok(run.moved(1, f) <= run.moved(0, f), `frame ${f}`);
    assert.deepEqual([run.moved(0, run.frames - 1), run.moved(1, run.frames - 1)], run.totals);
  }
  assert.equal(race(walks, "programs").frames, 1 + 3 * 2);
  assert.equal(race(walks, "tiles").frames, 1 + 8 + 2 + 8);
  assert.equal(cumulative(walks[0]).at(-1), walks[0].bytes.reduce((a, b) => a + b, 0));
  assert.deepEqual(edges({ phases: [], phase: [], program: [], kind: [], tensor: [], box: [], bytes: [] }, "tiles"), []);
});
