import assert from "node:assert/strict";
import { test } from "node:test";
import { fill, pieces } from "../../../fa_toolkit/viz/static/dom.js";
import { judge, readNumber } from "../../../fa_toolkit/viz/static/guess.js";
import { keyTarget } from "../../../fa_toolkit/viz/static/player.js";
import { barState, layout, passedBlock, ratioInside } from "../../../fa_toolkit/viz/static/softmax_picture.js";
import { softmaxRun } from "../../../fa_toolkit/viz/static/softmax_run.js";
import { readTyped, written } from "../../../fa_toolkit/viz/static/softmax_typed.js";

test("numbers are read as a person writes them", () => {
  const cases = {
    "0.135": 0.135, "13.5%": 0.135, "1/e^2": Math.exp(-2), "e^(2-4)": Math.exp(-2), "e^{2−4}": Math.exp(-2),
    "exp(-2)": Math.exp(-2), "e^-2": Math.exp(-2), "e**-2": Math.exp(-2), "2^3^2": 512, "-2^2": -4, "1 / (1 + 1)": 0.5,
    ".5": 0.5, "1e-3": 0.001, "（1）": 1, "3×2÷4": 1.5,
  };
  for (const [text, value] of Object.entries(cases)) {
    const read = readNumber(text);
    assert.ok(read !== null && Math.abs(read - value) < 1e-12, `${text} gave ${read}`);
  }
});

test("anything else is refused, never evaluated", () => {
  for (const text of ["", "abc", "1 +", "(1", "1)", "alert(1)", "1/0", "2 2(", "exp", "__proto__", "1;2"]) {
    assert.equal(readNumber(text), null, text);
  }
});

test("a wrong factor is told apart by its cause", () => {
  const factor = Math.exp(-2);
  assert.equal(judge(0.135, factor), "right");
  assert.equal(judge(0.14, factor), "right");
  assert.equal(judge(2, factor), "difference");
  assert.equal(judge(-2, factor), "difference");
  assert.equal(judge(Math.exp(2), factor), "inverse");
  assert.equal(judge(1, factor), "unchanged");
  assert.equal(judge(0.5, factor), "other");
  assert.equal(judge(1, 1), "right");
  assert.equal(judge(0, 1), "other");
  assert.equal(judge(0, Math.exp(-9)), "other");
});

test("keys lead where they should", () => {
  assert.equal(keyTarget(" ", 3, 8), "toggle");
  assert.equal(keyTarget("ArrowRight", 3, 8), "next");
  assert.equal(keyTarget("ArrowLeft", 0, 8), 0);
  assert.equal(keyTarget("Home", 3, 8), 0);
  assert.equal(keyTarget("End", 3, 8), 8);
  assert.equal(keyTarget("x", 3, 8), null);
});

test("bars start at zero and stay inside, also below it", () => {
  const at = layout([-1, -2, 0.5], 400);
  assert.ok(at.end <= 400 - 70);
  assert.equal(at.zero, at.y(0));
  assert.ok(at.y(0.5) < at.zero && at.zero < at.y(-2));
  assert.equal(layout([0, 0], 400).zero, layout([0, 0], 400).y(0));
});

test("only the current block is on chip, and none between blocks", () => {
  const frame = { kind: "add", block: 1, start: 2, stop: 4 };
  assert.deepEqual([0, 1, 2, 3].map((i) => barState(frame, i)), ["resting", "resting", "on-chip", "on-chip"]);
  for (const kind of ["done", "meet", "weigh", "join", "start"]) assert.equal(barState({ ...frame, kind }, 3), "resting");
  assert.deepEqual([0, 1, 2].map((b) => passedBlock(frame, b)), [true, true, false]);
  assert.deepEqual([0, 1, 2].map((b) => passedBlock({ ...frame, kind: "arrive" }, b)), [true, false, false]);
  assert.ok(!passedBlock({ kind: "start", block: -1 }, 0) && passedBlock({ ...frame, kind: "join" }, 3));
});

test("the ratio inside a block is measured on what is drawn and never changes", () => {
  const run = softmaxRun([1, 2, 3, 4], [2, 2]);
  for (const frames of Object.values(run.views)) {
    const said = new Set(frames.flatMap((f) => [ratioInside(f.terms, 0, 2), ratioInside(f.terms, 2, 4)]));
    assert.deepEqual([...said].sort(), ["", "0.3679 : 1"]);
  }
  assert.equal(ratioInside([0, 0], 0, 2), "");
});

const MOST = { length: 16, size: 10000, width: 3 };
const SAID = Object.fromEntries(["number {piece}", "size {piece}", "length {n} {most}", "block {piece} {n}", "sum {sum} {total} {n}", "empty", "rows {got} {n}", "width {most}"]
  .map((text) => [`bad_${text.split(" ")[0]}`, text]));
const typed = (x, blocks, v = "") => readTyped({ x, blocks, v }, MOST, SAID);

test("a reader's row, blocks and V are read", () => {
  assert.deepEqual(typed("[1，−2、3.5]", "2"), { x: [1, -2, 3.5], blocks: [2, 1], v: [[1, 1], [2, 0], [3, 1]] });
  assert.deepEqual(typed("1 2", "1, 1", "5; 7"), { x: [1, 2], blocks: [1, 1], v: [[5], [7]] });
  assert.deepEqual(typed("1 2", "1", "5, 7").v, [[5], [7]]);
  assert.deepEqual(typed("1 2", "1", "1,0；0,1").v, [[1, 0], [0, 1]]);
  assert.equal(written([[1, 0], [0, 1]]), "1, 0; 0, 1");
});

test("what cannot be drawn is one line, never an exception", () => {
  const cases = [
    ["", "1", "length 0 16"], ["1,a", "1", "number a"], ["1,inf", "1", "size inf"], ["nan", "1", "size nan"], ["99999", "1", "size 99999"],
    ["1,2", "3", "block 3 2"], ["1,2", "0", "block 0 2"], ["1,2,3", "2,2", "sum 2 + 2 4 3"], ["1,2", "x", "block x 2"], ["1,2", "", "empty"],
    ["1,2", "1.5", "block 1.5 2"], ["1".repeat(60), "1", `size ${"1".repeat(23)}…`], ["<b>", "1", "number <b>"], ["0x10", "1", "number 0x10"],
  ];
  for (const [x, blocks, line] of cases) assert.equal(typed(x, blocks), line);
  for (const [v, line] of [["1;2;3", "rows 3 2"], ["1,2;3", "width 3"], ["1,2,3,4;1,2,3,4", "width 3"], ["a;b", "number a"]]) {
    assert.equal(typed("1 2", "2", v), line);
  }
  assert.equal(typed(Array(10 ** 6).fill("1").join(" "), "1"), "length 1,000,000 16");
});

test("live numbers are marked, fields are filled", () => {
  assert.deepEqual(pieces("by *0.135* now").filter((p) => p.live), [{ text: "0.135", live: true }]);
  assert.equal(fill("step {n} of {total}", { n: 1, total: 9 }), "step 1 of 9");
});
