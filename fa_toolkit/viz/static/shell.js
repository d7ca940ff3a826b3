// @ts-check
// Binds a widget's model to the player frame: steps, questions, language, settings. Draws no picture.
import { columns } from "./columns.js";
import { html } from "./dom.js";
import { player } from "./player.js";

/**
 * What a picture gives the shell.
 * @typedef {{
 *   last: () => number,
 *   caption: (step: number) => string,
 *   draw: (step: number) => void,
 *   asked?: (step: number) => boolean,
 *   reveal?: (step: number) => void,
 *   typing?: (key: string) => void,
 *   marks?: () => number[],
 *   note?: (step: number) => string,
 *   settings?: () => void,
 *   close?: () => void,
 * }} Scene
 * What the shell gives a picture.
 * @typedef {{
 *   root: HTMLElement, body: HTMLElement, after: HTMLElement,
 *   head: () => any, data: () => Record<string, any>, words: () => Record<string, string>, lang: () => string,
 *   step: () => number, go: (step: number) => void, repaint: () => void, rebuild: () => void,
 *   setting: (name: string) => any, set: (name: string, value: unknown) => void,
 *   guess: (name: string) => any, answer: (name: string, value: unknown) => void, predicts: () => boolean,
 *   complain: (text: string) => void, alone: () => boolean,
 * }} Shell
 */

const TELL_MS = 60; // Python hears the step at most this often; the picture does not wait for it

/**
 * Show a player. `build` makes the picture; it is called again when the data change.
 * @param {{ model: any, el: HTMLElement }} context
 * @param {(shell: Shell) => Scene} build
 * @returns {() => void} what undoes it
 */
export function mount({ model, el }, build) {
  /** @type {Scene | null} */
  let scene = null;
  let step = model.get("step");
  /** @type {ReturnType<typeof setTimeout> | null} */
  let telling = null;
  const words = () => model.get("head").words?.[model.get("lang")] ?? {};
  const last = () => scene?.last() ?? 0;
  const asked = () => Boolean(scene && model.get("predict") && scene.asked?.(step));
  const tell = () => {
    telling = null;
    if (model.get("step") === step) return;
    model.set("step", step);
    model.save_changes();
  };
  const go = (/** @type {number} */ to) => {
    const wanted = Math.min(Math.max(0, Math.round(to)), last());
    if (wanted === step) return;
    step = wanted;
    paint();
    telling ??= setTimeout(tell, TELL_MS);
  };
  const put = (/** @type {string} */ trait, /** @type {string} */ name, /** @type {unknown} */ value) => {
    model.set(trait, { ...model.get(trait), [name]: value });
    model.save_changes();
  };
  const frame = player(el, {
    last,
    step: () => step,
    labels: words,
    go,
    next() {
      if (asked()) return scene?.reveal?.(step), false;
      if (step >= last()) return false;
      go(step + 1);
      return !asked() && step < last();
    },
    typing: (key) => scene?.typing?.(key),
    speak() {
      model.set("lang", model.get("lang") === "en" ? "zh" : "en");
      model.save_changes();
    },
  });
  const alarm = html("div", { class: "fa-error fa-alarm", role: "alert" });
  frame.caption.after(alarm);

  let complaint = "";
  const warn = () => {
    const line = model.get("error") || complaint;
    alarm.textContent = line;
    alarm.hidden = !line;
  };
  const paint = () => {
    if (!model.get("head").words) return; // the data have not arrived yet
    warn();
    frame.root.classList.toggle("fa-empty", scene === null);
    for (const part of [frame.body, frame.controls]) part.hidden = scene === null;
    frame.root.classList.toggle("fa-asking", asked());
    if (frame.root.lang !== model.get("lang")) frame.root.lang = model.get("lang");
    frame.show(scene ? scene.caption(step) : "", { marks: scene?.marks?.(), note: scene?.note?.(step) });
    scene?.draw(step);
  };
  const rebuild = () => {
    frame.stop();
    scene?.close?.();
    frame.body.replaceChildren();
    frame.after.replaceChildren();
    scene = null;
    complaint = "";
    if (model.get("head").layout) {
      decoded = columns(model.get("head").layout, model.get("blob"));
      scene = build(shell);
      step = Math.min(step, last());
    }
    paint();
  };
  /** @type {Record<string, any>} */
  let decoded = {};
  /** @type {Shell} */
  const shell = {
    root: frame.root,
    body: frame.body,
    after: frame.after,
    head: () => model.get("head"),
    data: () => decoded,
    words,
    lang: () => model.get("lang"),
    step: () => step,
    go,
    repaint: () => paint(),
    rebuild: () => rebuild(),
    setting: (name) => model.get("settings")[name],
    set: (name, value) => put("settings", name, value),
    guess: (name) => model.get("guesses")[name],
    answer: (name, value) => put("guesses", name, value),
    predicts: () => model.get("predict"),
    alone: () => Boolean(model.bare), // no kernel behind the page
    complain: (text) => {
      complaint = text;
      warn();
    },
  };

  /** @type {[string, () => void][]} */
  const bound = [
    ["change:step", () => {
      if (telling !== null || model.get("step") === step) return;
      step = Math.min(model.get("step"), last());
      paint();
    }],
    ["change:guesses", paint],
    ["change:predict", paint],
    ["change:error", paint],
    ["change:settings", () => (scene?.settings ? scene.settings() : rebuild())],
    ["change:lang", rebuild],
    ["change:head", rebuild],
  ];
  for (const [name, act] of bound) model.on(name, act);
  rebuild();
  return () => {
    if (telling !== null) clearTimeout(telling);
    tell();
    frame.stop();
    scene?.close?.();
    for (const [name, act] of bound) model.off(name, act);
  };
}
