import assert from "node:assert/strict";
import { test } from "node:test";
import { fill, pieces } from "../../../fa_toolkit/viz/static/dom.js";
import { judge, readNumber } from "../../../fa_toolkit/viz/static/guess.js";
import { keyTarget } from "../../../fa_toolkit/viz/static/player.js";
import { barState, layout } from "../../../fa_toolkit/viz/static/softmax_picture.js";

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

test("only the current block is on chip", () => {
  const frame = { kind: "add", start: 2, stop: 4 };
  assert.deepEqual([0, 1, 2, 3].map((i) => barState(3, frame, i)), ["resting", "resting", "on-chip", "on-chip"]);
  assert.equal(barState(0, { kind: "done", start: 2, stop: 4 }, 3), "resting");
});

test("live numbers are marked, fields are filled", () => {
  assert.deepEqual(pieces("by *0.135* now").filter((p) => p.live), [{ text: "0.135", live: true }]);
  assert.equal(fill("step {n} of {total}", { n: 1, total: 9 }), "step 1 of 9");
});
