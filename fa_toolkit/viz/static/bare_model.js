// @ts-check
// The part of a widget's model that a player uses, on a page where no kernel stands behind it.

/**
 * A model over `state`, whose `blob` is base64 text and becomes a DataView, as from a kernel.
 * @param {Record<string, any>} state
 */
export function bareModel(state) {
  const bytes = Uint8Array.from(atob(state.blob), (letter) => letter.charCodeAt(0));
  state.blob = new DataView(bytes.buffer);
  /** @type {Record<string, (() => void)[]>} */
  const heard = {};
  const model = {
    bare: true, // what only a kernel could do is not offered
    heard, // who listens, by event
    get: (/** @type {string} */ name) => state[name],
    /** @param {string | Record<string, unknown>} name @param {unknown} [value] */
    set(name, value) {
      if (typeof name === "object") {
        for (const key in name) model.set(key, name[key]);
        return;
      }
      if (state[name] === value) return;
      state[name] = value;
      for (const act of [...(heard[`change:${name}`] ?? [])]) act();
    },
    on(/** @type {string} */ name, /** @type {() => void} */ act) {
      heard[name] = [...(heard[name] ?? []), act];
    },
    off(/** @type {string} */ name, /** @type {() => void} */ act) {
      heard[name] = (heard[name] ?? []).filter((other) => other !== act);
    },
    save_changes() {},
    send() {},
  };
  return model;
}
