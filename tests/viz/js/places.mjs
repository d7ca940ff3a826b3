// Answers Python's questions about the ladder and the chooser: node places.mjs questions.json > answers.json
import { readFileSync } from "node:fs";
import { columns } from "../../../fa_toolkit/viz/static/columns.js";
import { attainable, flashBytes, flopsOf, kernelsOf, programsOf, standardBytes } from "../../../fa_toolkit/viz/static/choice_sums.js";
import { figuresOf, placed, tensorBytes } from "../../../fa_toolkit/viz/static/ladder_sums.js";
import { duration } from "../../../fa_toolkit/viz/static/numbers.js";

const asked = JSON.parse(readFileSync(process.argv[2], "utf8"));

function decoded({ head, blob }) {
  const bytes = Buffer.from(blob, "base64");
  return columns(head.layout, new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
}

function ladders({ state, tensors }) {
  const data = decoded(state);
  const { head } = state;
  return {
    bytes: tensors.map(([what, n, d]) => tensorBytes(head, what, n, d)),
    gpus: head.gpus.map((gpu, g) => tensors.map(([what, n, d]) => {
      const { first, seconds } = placed(figuresOf(data, g, head.levels.length), tensorBytes(head, what, n, d));
      return { key: gpu.key, first: head.levels[first], seconds: seconds.map((s) => (Number.isFinite(s) ? s : null)) };
    })),
  };
}

function choices({ state }) {
  const data = decoded(state);
  return state.head.gpus.flatMap((gpu) => [64, 128].flatMap((d) => [true, false].flatMap((causal) =>
    kernelsOf(data, gpu.capability, d, causal).map((kernel) => ({
      gpu: gpu.key, d, causal, m: kernel.m, n: kernel.n, programs: programsOf(kernel, gpu).least, roof: attainable(gpu, 100), standard: kernel.standard,
    })))));
}

console.log(JSON.stringify({
  ladders: ladders(asked.ladder),
  choices: choices(asked.chooser),
  sums: asked.problems.map((p) => ({ flops: flopsOf(p), flash: flashBytes(p), standard: standardBytes(p) })),
  durations: asked.durations.map(duration),
}));
