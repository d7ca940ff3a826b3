// @ts-check
// The frame every player shares: title, caption, controls, keyboard, play clock. Draws no picture.
import { fill, html, mark } from "./dom.js";

const ICONS = {
  reset: "M2 2h2v10H2zM12 2v10L5 7z",
  back: "M11 2v10L4 7z",
  play: "M3 1.5v11L12 7z",
  pause: "M3 2h3v10H3zM8 2h3v10H8z",
  next: "M3 2v10l7-5z",
};

/**
 * Where a key leads, or null for a key that is not ours.
 * @param {string} key
 * @param {number} step
 * @param {number} last
 * @returns {number | "toggle" | "next" | null}
 */
export function keyTarget(key, step, last) {
  if (key === " ") return "toggle";
  if (key === "ArrowRight" || key === "ArrowUp") return "next";
  if (key === "ArrowLeft" || key === "ArrowDown") return Math.max(0, step - 1);
  if (key === "Home") return 0;
  if (key === "End") return last;
  return null;
}

/** @param {keyof typeof ICONS} name */
function icon(name) {
  const box = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  box.setAttribute("viewBox", "0 0 14 14");
  box.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  box.append(path);
  return box;
}

/**
 * Whether a key belongs to the control that has the focus rather than to the player.
 * @param {EventTarget | null} target
 * @param {string} key
 */
function keepsKey(target, key) {
  if (!(target instanceof HTMLElement)) return false;
  if (target.matches('input[type="text"], textarea, select, input[type="range"]:not(.fa-range)')) return true;
  return target.matches('button, input[type="checkbox"], [role="checkbox"]') && (key === " " || key === "Enter");
}

const SPEEDS = [0.5, 1, 2, 4];

/**
 * Milliseconds between two steps while playing: calm for a few, quick for thousands.
 * @param {number} last
 * @param {number} speed
 */
export function interval(last, speed) {
  return Math.max(40, Math.min(1600, 120000 / Math.max(1, last))) / speed;
}

/**
 * Small ticks along the scrubber.
 * @param {HTMLElement} box
 * @param {number[]} marks
 * @param {number} last
 */
function drawMarks(box, marks, last) {
  const places = marks.length <= 80 && last > 0 ? marks : [];
  box.replaceChildren(
    ...places.map((step) => html("i", { style: `left: calc(8px + (100% - 16px) * ${step / last})` })),
  );
}

/**
 * Build the frame and wire it. `go` is asked to move; it may refuse (a question is open).
 * @param {HTMLElement} el
 * @param {{
 *   last: () => number, step: () => number, labels: () => Record<string, string>,
 *   go: (step: number) => void, next: () => boolean, typing: (key: string) => void,
 *   speak?: () => void,
 * }} host  `next` moves on by one and says whether play may go on; `speak` changes the language
 */
export function player(el, host) {
  const title = html("b");
  const count = html("span");
  const caption = html("div", { class: "fa-caption", "aria-live": "polite" });
  const body = html("div", { class: "fa-body" });
  const after = html("div");
  const range = /** @type {HTMLInputElement} */ (
    html("input", { type: "range", min: "0", step: "1", class: "fa-range" })
  );
  const button = (/** @type {keyof typeof ICONS} */ name, /** @type {() => void} */ act) => {
    const made = html("button", { type: "button", class: `fa-button fa-do-${name}` }, icon(name));
    made.addEventListener("click", act);
    return made;
  };
  const buttons = {
    reset: button("reset", () => host.go(0)),
    back: button("back", () => host.go(host.step() - 1)),
    play: button("play", () => toggle()),
    next: button("next", () => void host.next()),
  };
  const hint = html("span", { class: "fa-hint" });
  const ticks = html("span", { class: "fa-marks", "aria-hidden": "true" });
  const rail = html("span", { class: "fa-rail" }, ticks, range);
  const pace = /** @type {HTMLSelectElement} */ (html("select", { class: "fa-select fa-pace" }));
  for (const speed of SPEEDS) pace.append(html("option", { value: String(speed) }, `${speed}×`));
  pace.value = "1";
  const language = html("button", { type: "button", class: "fa-wordlink fa-speak" });
  language.addEventListener("click", () => host.speak?.());
  const controls = html(
    "div", { class: "fa-controls" }, ...Object.values(buttons), rail, ...(host.speak ? [pace] : []), hint,
  );
  const root = html(
    "div",
    { class: "fa-viz fa-player", tabindex: "0", role: "group" },
    html("div", { class: "fa-head" }, title, count, ...(host.speak ? [language] : [])),
    controls,
    caption,
    body,
    after,
  );
  el.append(root);

  /** @type {ReturnType<typeof setInterval> | null} */
  let clock = null;
  const stop = () => {
    if (clock !== null) clearInterval(clock);
    clock = null;
    face();
  };
  const start = () => {
    clock = setInterval(() => {
      if (!root.isConnected || !host.next()) stop();
    }, interval(host.last(), Number(pace.value)));
  };
  const toggle = () => {
    if (clock !== null) return stop();
    if (host.step() >= host.last()) host.go(0);
    start();
    face();
  };
  pace.addEventListener("change", () => {
    if (clock === null) return;
    clearInterval(clock);
    start();
  });
  let shown = ""; // what the buttons say now
  const face = () => {
    const words = host.labels();
    const state = `${clock === null} ${words.play} ${words.pause}`;
    if (state === shown) return;
    shown = state;
    buttons.play.replaceChildren(icon(clock === null ? "play" : "pause"));
    const names = { reset: "reset", back: "back", play: clock === null ? "play" : "pause", next: "next" };
    for (const [name, label] of Object.entries(names)) {
      const made = buttons[/** @type {keyof typeof buttons} */ (name)];
      made.setAttribute("aria-label", words[label]);
      made.title = words[label];
    }
  };

  range.addEventListener("input", () => {
    stop();
    host.go(Number(range.value));
  });
  root.addEventListener("keydown", (event) => {
    event.stopPropagation(); // the notebook has its own meaning for these keys
    if (event.ctrlKey || event.metaKey || event.altKey || keepsKey(event.target, event.key)) return;
    const target = keyTarget(event.key, host.step(), host.last());
    if (target === null) return host.typing(event.key);
    event.preventDefault();
    if (target === "toggle") return toggle();
    stop();
    if (target === "next") host.next();
    else host.go(target);
  });

  /** @type {number[] | null} */
  let marked = null;
  /** @type {Record<string, string> | null} */
  let said = null;
  return {
    root,
    body,
    after,
    caption,
    controls,
    stop,
    /**
     * @param {string} sentence
     * @param {{ marks?: number[], note?: string }} [more]
     */
    show(sentence, more = {}) {
      const words = host.labels();
      const [step, last] = [host.step(), host.last()];
      const place = fill(words.step, { n: step + 1, total: last + 1 }) + (more.note ?? "");
      if (more.marks && more.marks !== marked) drawMarks(ticks, (marked = more.marks), last);
      if (host.speak && language.textContent !== words.language) {
        language.textContent = words.language;
        pace.setAttribute("aria-label", words.speed);
        pace.title = words.speed;
      }
      count.textContent = place;
      mark(caption, sentence);
      range.max = String(last);
      range.value = String(step);
      range.style.setProperty("--fa-done", `${last ? (100 * step) / last : 0}%`);
      range.setAttribute("aria-valuetext", `${place}: ${sentence.replaceAll("*", "")}`);
      /** @type {HTMLButtonElement} */ (buttons.back).disabled = step === 0;
      /** @type {HTMLButtonElement} */ (buttons.reset).disabled = step === 0;
      face();
      if (words === said) return;
      said = words;
      title.textContent = words.title;
      root.setAttribute("aria-label", words.title);
      range.setAttribute("aria-label", words.position);
      const [space, arrows, ends] = words.keys.split("|");
      hint.replaceChildren(
        html("kbd", {}, "space"), ` ${space} `,
        html("kbd", {}, "←"), " ", html("kbd", {}, "→"), ` ${arrows} `,
        html("kbd", {}, "home"), " ", html("kbd", {}, "end"), ` ${ends}`,
      );
    },
  };
}
