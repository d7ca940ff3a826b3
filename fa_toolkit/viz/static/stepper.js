// @ts-check
// The online-softmax stepper: binds the model's traits to the player, the picture and the formula.
import { fill, html, mark, svg } from "./dom.js";
import { judge, readNumber } from "./guess.js";
import { player } from "./player.js";
import { HEIGHT, softmaxPicture } from "./softmax_picture.js";

/** @param {{ model: any, el: HTMLElement }} context */
function render({ model, el }) {
  const words = () => model.get("labels");
  const run = () => model.get("payload");
  const last = () => run().frames.length - 1;
  const step = () => Math.min(model.get("step"), last());
  const asked = () => {
    const frame = run().frames[step()];
    return frame.kind === "correct" && model.get("predict") && !(step() in model.get("guesses"));
  };
  const go = (/** @type {number} */ to) => {
    model.set("step", Math.min(Math.max(0, to), last()));
    model.save_changes();
  };
  const answer = (/** @type {Record<string, unknown>} */ guess) => {
    model.set("guesses", { ...model.get("guesses"), [step()]: guess });
    model.save_changes();
  };
  const frame = player(el, {
    last,
    step,
    labels: words,
    go,
    next() {
      if (asked()) return answer({ text: "", value: null, verdict: "shown" }), false;
      if (step() >= last()) return false;
      go(step() + 1);
      return !asked() && step() < last();
    },
    typing(key) {
      if (asked() && /^[0-9.(e-]$/.test(key)) input.focus();
    },
  });

  const picture = svg("svg", { role: "img", class: "fa-picture" });
  const drawing = html("div", { class: "fa-drawing", style: `height: ${HEIGHT}px` });
  drawing.append(picture);
  const side = sidePanel();
  const formula = html("div", { class: "fa-formula" });
  frame.body.append(html("div", { class: "fa-stage" }, drawing, side.root), formula);
  const input = /** @type {HTMLInputElement} */ (html("input", { type: "text", size: "9", class: "fa-guess" }));
  const check = html("button", { type: "button", class: "fa-plain" });
  const reveal = html("button", { type: "button", class: "fa-plain" });
  const complaint = html("span", { class: "fa-soft" });
  const submit = () => {
    const value = readNumber(input.value);
    if (value === null) return void (complaint.textContent = words().unreadable);
    const verdict = judge(value, run().frames[step()].factor);
    answer({ text: input.value.trim(), value, verdict });
    frame.root.focus({ preventScroll: true });
  };
  check.addEventListener("click", submit);
  reveal.addEventListener("click", () => {
    answer({ text: "", value: null, verdict: "shown" });
    frame.root.focus({ preventScroll: true });
  });
  input.addEventListener("keydown", (event) => event.key === "Enter" && submit());
  const own = ownRow(model, frame.root);
  frame.after.append(own.root);

  /** @type {(step: number, asked: boolean, caption: string) => void} */
  let draw = () => {};
  const rebuild = () => {
    const width = Math.max(280, drawing.clientWidth || 560);
    draw = softmaxPicture(picture, run(), words(), width);
    frame.stop();
    own.refresh();
    update();
  };
  const update = () => {
    const data = run().frames[step()];
    const open = asked();
    const words_ = words();
    const caption = open ? data.asked.caption : data.caption;
    frame.show(caption);
    draw(step(), open, caption);
    side.show(open ? run().frames[step() - 1] : data, run().scale, words_);
    formula.replaceChildren(
      ...(open ? data.asked.formula : data.formula).flatMap(
        (/** @type {[string, string, boolean]} */ [name, text, lit]) => {
          const row = html("span", { class: lit ? "fa-row fa-lit" : "fa-row" });
          mark(row, text);
          if (name === "factor" && open) row.replaceChildren(input, check, reveal, complaint);
          else if (name === "factor" && data.kind === "correct") row.append(...verdict(data));
          const kind = name === "p" ? "s" : "stat";
          return [html("span", { class: `fa-of fa-name-${kind}` }, `${name}:`), row];
        },
      ),
    );
    if (!open) (input.value = ""), (complaint.textContent = "");
    input.setAttribute("aria-label", words_.factor);
    input.placeholder = "?";
    check.textContent = words_.check;
    reveal.textContent = words_.show;
  };
  /** @param {any} data */
  const verdict = (data) => {
    const guess = model.get("guesses")[step()];
    if (!guess) return [];
    const w = words();
    const text =
      guess.verdict === "shown" ? w.shown
      : guess.verdict === "right" ? fill(w.right, { guess: guess.text })
      : fill(w.wrong, { guess: guess.text, why: w[guess.verdict] });
    return [html("span", { class: "fa-verdict" }, text)];
  };

  const watch = new ResizeObserver(() => {
    if (drawing.clientWidth && String(drawing.clientWidth) !== picture.getAttribute("width")) rebuild();
  });
  watch.observe(drawing);
  /** @type {[string, () => void][]} */
  const bound = [
    ["change:step", update],
    ["change:guesses", update],
    ["change:predict", update],
    ["change:payload", rebuild],
    ["change:labels", rebuild],
    ["change:error", () => own.refresh()],
  ];
  for (const [name, act] of bound) model.on(name, act);
  rebuild();
  return () => {
    frame.stop();
    watch.disconnect();
    for (const [name, act] of bound) model.off(name, act);
  };
}

/** The panel beside the picture: what is kept between blocks, and the sum by three rules. */
function sidePanel() {
  const root = html("div", { class: "fa-side" });
  /**
   * @param {any} data
   * @param {[number, number]} scale
   * @param {Record<string, string>} words
   */
  function show(data, scale, words) {
    const kept = html("div", { class: "fa-kept" });
    for (const [name, text] of [["m", data.m_label], ["l", data.l_label]]) {
      kept.append(
        html("span", { class: "fa-name-stat" }, name),
        html("span", { class: text ? "fa-big" : "fa-big fa-soft" }, text || words.nothing),
      );
    }
    const [low, high] = scale;
    const span = high - low || 1;
    const place = (/** @type {number} */ v) => (100 * (Math.min(high, Math.max(low, v)) - low)) / span;
    const rules = data.rules.map((/** @type {any} */ rule) => {
      const bar = html("i", { class: rule.name === "multiply" ? "fa-right" : "fa-other" });
      const value = rule.value ?? 0;
      bar.style.left = `${place(Math.min(0, value))}%`;
      bar.style.width = `${place(Math.max(0, value)) - place(Math.min(0, value))}%`;
      const zero = html("u");
      zero.style.left = `${place(0)}%`;
      return html(
        "div",
        { class: "fa-rule" },
        html(
          "span",
          { class: "fa-rule-head" },
          html("span", {}, words[rule.name]),
          html("span", {}, rule.text ? `${rule.text} ${rule.sign}` : ""),
        ),
        rule.name === "no_max" || rule.value === null
          ? html("span", { class: "fa-track" })
          : html("span", { class: "fa-track" }, bar, zero),
        html("span", { class: "fa-rule-note" }, rule.note),
      );
    });
    root.replaceChildren(
      html("h4", {}, words.kept), kept, html("h4", {}, words.rules), ...rules,
    );
  }
  return { root, show };
}

/**
 * The line where the reader types another row.
 * @param {any} model
 * @param {HTMLElement} player
 */
function ownRow(model, player) {
  const field = (/** @type {string} */ size) =>
    /** @type {HTMLInputElement} */ (html("input", { type: "text", size, spellcheck: "false" }));
  const [x, blocks] = [field("18"), field("8")];
  const [xName, blocksName] = [html("span"), html("span")];
  const use = html("button", { type: "button", class: "fa-plain" });
  const presets = html("span", { class: "fa-presets" });
  const error = html("div", { class: "fa-error", role: "alert" });
  const root = html(
    "div",
    { class: "fa-own" },
    html("div", { class: "fa-fields" }, html("label", {}, xName, x), html("label", {}, blocksName, blocks), use, presets),
    error,
  );
  let sent = 0;
  const send = (/** @type {{x: string, blocks: string}} */ wanted) => {
    const seen = model.get("payload");
    const complained = model.get("error");
    error.textContent = "";
    model.set("typed", { ...wanted, n: ++sent + Date.now() });
    model.save_changes();
    setTimeout(() => {
      if (model.get("payload") !== seen) return;
      error.textContent = model.get("error") || (complained === "" ? model.get("labels").offline : "");
    }, 2500);
  };
  const submit = () => send({ x: x.value, blocks: blocks.value });
  use.addEventListener("click", submit);
  for (const box of [x, blocks]) {
    box.addEventListener("keydown", (event) => event.key === "Enter" && submit());
  }
  function refresh() {
    const words = model.get("labels");
    xName.textContent = words.row;
    blocksName.textContent = words.blocks;
    use.textContent = words.use;
    error.textContent = model.get("error");
    if (!root.contains(document.activeElement) || !model.get("error")) {
      if (!model.get("error")) {
        x.value = model.get("payload").labels.join(", ");
        blocks.value = model.get("blocks").join(", ");
      }
    }
    presets.replaceChildren(
      ...model.get("presets").map((/** @type {any} */ preset) => {
        const made = html("button", { type: "button", class: "fa-preset" }, preset.label);
        made.addEventListener("click", () => {
          send(preset);
          player.focus({ preventScroll: true });
        });
        return made;
      }),
    );
  }
  return { root, refresh };
}

export default { render };
