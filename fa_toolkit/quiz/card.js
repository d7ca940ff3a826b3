// The picture of a quiz card. It draws `view` and reports what the learner did; it knows no answers.

const LETTERS = "ABCDEFGHIJ";
const MARKS = { right: "✓", part: "◐", unsure: "?", wrong: "✗", ok: "✓", no: "○", x: "✗", "": "" };
const CLAIM = { holds: "✓", caveat: "◐", wrong: "✗" };
const TONE = { ok: "good", right: "good", no: "miss", part: "miss", unsure: "miss", x: "bad", wrong: "bad" };

function h(tag, attrs = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attrs)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "html") node.innerHTML = value; // escaped by the kernel before it is sent
    else if (name === "value" || name === "checked" || name === "disabled") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

const mark = (kind, name) =>
  h("span", { class: `fq-mark fq-${TONE[kind] || "soft"}`, role: "img", "aria-label": name || kind }, MARKS[kind]);
const why = (html) => (html ? h("p", { class: "fq-why", html }) : null);

// ---- what is asked: each returns the form's body and how to read the answer from it

function pick(card, ctx) {
  const { question, draft } = ctx;
  const one = question.kind === "choice";
  const chosen = () => [...body.querySelectorAll("input:checked")].map((input) => input.value);
  const body = h("div", { class: "fq-options" }, question.options.map((option) =>
    h("label", { class: "fq-option" },
      h("input", {
        type: one ? "radio" : "checkbox", name: `fq-${ctx.uid}`, value: option.key,
        checked: [].concat(draft ?? []).includes(option.key),
        onchange: () => ctx.keep(one ? chosen()[0] : chosen()),
      }),
      h("span", { html: option.html }))));
  return { body, read: () => (one ? chosen()[0] ?? "" : chosen()) };
}

function write(card, ctx) {
  const { question, labels } = ctx;
  const seen = h("span", { class: "fq-seen", "aria-live": "polite" });
  const input = h("input", {
    type: "text", class: "fq-number", value: ctx.draft ?? "", autocomplete: "off", spellcheck: "false",
    "aria-label": labels.yours, oninput: () => { ctx.keep(input.value, 250); ask(); },
  });
  const ask = () => ctx.preview(input.value, (reply) => {
    seen.textContent = reply.problem || (reply.as ? `${labels.reads} ${reply.as}` : "");
    seen.classList.toggle("fq-miss", Boolean(reply.problem));
  });
  if (input.value) ask();
  const unit = question.unit ? h("span", { class: "fq-unit" }, question.unit) : null;
  return { body: h("div", { class: "fq-write" }, input, unit, seen), read: () => input.value };
}

function speak(card, ctx) {
  const { draft, labels } = ctx;
  const area = h("textarea", {
    class: "fq-text", rows: 7, maxlength: 20000, spellcheck: "false", "aria-label": labels.yours,
    oninput: () => ctx.keep(area.value, 250),
  });
  area.value = typeof draft === "string" ? draft : "";
  return { body: area, read: () => area.value };
}

function arrange(card, ctx) {
  const { question, labels } = ctx;
  const known = new Map(question.options.map((option) => [option.key, option]));
  let keys = (ctx.draft ?? []).filter((key) => known.has(key));
  if (keys.length !== known.size) keys = [...known.keys()];
  const list = h("ol", { class: "fq-order" });
  const move = (at, to, which) => {
    if (to < 0 || to >= keys.length) return;
    keys.splice(to, 0, keys.splice(at, 1)[0]);
    ctx.keep([...keys]);
    draw();
    const row = list.children[to];
    (row.querySelector(`button[data-way="${which}"]:not(:disabled)`) || row.querySelector("button:not(:disabled)")).focus();
  };
  const arrow = (at, way) => h("button", {
    type: "button", class: "fq-icon", "data-way": way, "aria-label": `${labels[way]} ${at + 1}`,
    title: labels[way], disabled: way === "up" ? at === 0 : at === keys.length - 1,
    onclick: () => move(at, at + (way === "up" ? -1 : 1), way),
    onkeydown: (event) => {
      const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
      if (step) { event.preventDefault(); move(at, at + step, step < 0 ? "up" : "down"); }
    },
  }, way === "up" ? "↑" : "↓");
  const draw = () => list.replaceChildren(...keys.map((key, at) =>
    h("li", {}, h("span", { class: "fq-place" }, String(at + 1)),
      h("span", { class: "fq-grow", html: known.get(key).html }), arrow(at, "up"), arrow(at, "down"))));
  draw();
  return { body: list, read: () => keys };
}

function join(card, ctx) {
  const { question, labels } = ctx;
  const draft = { ...(ctx.draft ?? {}) };
  const rows = question.lefts.map((left, at) => {
    const name = `fq-${ctx.uid}-${at}`;
    const select = h("select", {
      class: "fq-letter", id: name,
      onchange: () => { draft[left.key] = select.value; ctx.keep({ ...draft }); },
    }, h("option", { value: "" }, labels.choose),
      question.rights.map((right, place) => h("option", { value: right.key }, LETTERS[place])));
    select.value = draft[left.key] ?? "";
    return h("div", { class: "fq-left" }, select, h("label", { for: name, html: left.html }));
  });
  const side = question.rights.map((right, at) =>
    h("li", {}, h("b", {}, LETTERS[at]), h("span", { html: right.html })));
  return {
    body: h("div", { class: "fq-match" }, h("div", {}, rows), h("ul", { class: "fq-rights" }, side)),
    read: () => draft,
  };
}

function fill(card, ctx) {
  const { question } = ctx;
  const draft = { ...(ctx.draft ?? {}) };
  const cell = (entry, row, column) => entry.given !== undefined
    ? h("td", { class: "fq-given" }, entry.given)
    : h("td", {}, h("input", {
        type: "text", value: draft[entry.cell] ?? "", autocomplete: "off", spellcheck: "false",
        "aria-label": `${row.text}, ${column}`,
        oninput: (event) => { draft[entry.cell] = event.target.value; ctx.keep({ ...draft }, 250); },
      }));
  return { body: table(question, cell), read: () => draft };
}

function table(question, cell) {
  return h("table", { class: "fq-trace" },
    h("thead", {}, h("tr", {}, h("th", {}), question.columns.map((name) => h("th", { scope: "col" }, h("code", {}, name))))),
    h("tbody", {}, question.rows.map((row) => {
      const head = h("th", { scope: "row", html: row.name });
      const named = { text: head.textContent };
      return h("tr", {}, head, row.cells.map((entry, at) => cell(entry, named, question.columns[at])));
    })));
}

const FORMS = { choice: pick, many: pick, number: write, order: arrange, match: join, trace: fill, text: speak };

// ---- what was answered, with its marks

function picked({ question, verdict, labels }) {
  const { picked: mine, right, whys } = verdict.details;
  const rest = [];
  const rows = question.options.map((option) => {
    const took = mine.includes(option.key), good = right.includes(option.key);
    const kind = took ? (good ? "ok" : "x") : good ? "no" : "";
    if (!kind) rest.push(option);
    const tag = { ok: "", x: labels.picked, no: question.kind === "many" ? labels.missed : labels.right_one }[kind];
    const text = h("span", { class: took ? (good ? "fq-said-good" : "fq-said-bad") : "", html: option.html });
    return h("li", { class: kind ? "" : "fq-quiet" }, mark(kind, tag || verdict.headline),
      h("div", {}, text, tag ? h("span", { class: "fq-tag" }, tag) : null, kind ? why(whys[option.key]) : null));
  });
  const summary = question.kind === "many" ? labels.rightly_left : labels.others;
  const more = rest.length ? h("details", { class: "fq-more" }, h("summary", {}, summary),
    rest.map((option) => h("div", {}, h("span", { html: option.html }), why(whys[option.key])))) : null;
  return [h("ul", { class: "fq-rows" }, rows), more];
}

function written({ question, verdict, labels }) {
  const { read } = verdict.details;
  const good = verdict.outcome === "right";
  const missing = verdict.points.filter((point) => point.mark === "no");
  const wrong = verdict.points.filter((point) => point.mark === "x");
  const reads = read && read.replace(/[\s,]/g, "") !== verdict.said.replace(/[\s,]/g, "") ? ` = ${read}` : "";
  return [
    h("div", { class: "fq-answer" },
      h("span", { class: good ? "fq-said-good" : "fq-said-bad", html: verdict.said }), h("span", { class: "fq-soft" }, reads)),
    h("ul", { class: "fq-rows" },
      good ? h("li", {}, mark("ok"), h("div", {}, labels.right_value, " ", h("b", {}, verdict.details.value))) : null,
      wrong.filter((point) => point.why).map((point) => h("li", {}, mark("x"), h("div", { html: point.why }))),
      missing.map((point) => h("li", {}, mark("no"), h("div", {}, labels.right_value, " ", h("b", { html: point.html }))))),
  ];
}

function arranged({ question, verdict, labels }) {
  const { picked: mine, right, why: reason } = verdict.details;
  const known = new Map(question.options.map((option) => [option.key, option.html]));
  const follows = (key, at) => right[right.indexOf(key) - 1] === mine[at - 1];
  const list = (keys, marked) => h("ol", { class: "fq-order fq-still" }, keys.map((key, at) =>
    h("li", {}, h("span", { class: "fq-place" }, String(at + 1)), h("span", { class: "fq-grow", html: known.get(key) }),
      marked && at ? mark(follows(key, at) ? "ok" : "x") : null)));
  if (verdict.outcome === "right") return [list(mine, true)];
  return [h("div", { class: "fq-two" },
    h("div", {}, h("h4", {}, labels.yours), list(mine, true)),
    h("div", {}, h("h4", {}, labels.right_order), list(right, false))), why(reason)];
}

function joined({ question, verdict, labels }) {
  const left = new Map(question.lefts.map((option) => [option.key, option.html]));
  const right = new Map(question.rights.map((option) => [option.key, option.html]));
  const rest = [];
  const rows = verdict.details.pairs.map((pair) => {
    const hit = pair.got === pair.right;
    if (hit) rest.push(pair);
    const got = pair.got ? h("span", { class: hit ? "fq-said-good" : "fq-said-bad", html: right.get(pair.got) })
      : h("span", { class: "fq-soft" }, labels.not_joined);
    return h("li", {}, mark(hit ? "ok" : pair.got ? "x" : "no"),
      h("div", { class: "fq-pair" }, h("span", { html: left.get(pair.left) }),
        h("div", {}, got, hit ? null : h("div", {}, h("span", { html: right.get(pair.right) }), h("span", { class: "fq-tag" }, labels.right_one)),
          hit ? null : why(pair.why))));
  });
  const more = rest.length && rest.some((pair) => pair.why) ? h("details", { class: "fq-more" }, h("summary", {}, labels.every),
    rest.map((pair) => h("div", {}, h("span", { html: left.get(pair.left) }), why(pair.why)))) : null;
  return [h("ul", { class: "fq-rows" }, rows), more];
}

function filled({ question, verdict }) {
  const cells = new Map(verdict.details.cells.map((cell) => [cell.cell, cell]));
  const cell = (entry) => {
    const got = cells.get(entry.cell);
    if (!got) return h("td", { class: "fq-given" }, entry.given);
    const kind = got.hit ? "ok" : got.said ? "x" : "no";
    return h("td", {}, h("div", { class: "fq-cell" }, mark(kind),
      got.said ? h("span", { class: got.hit ? "fq-said-good" : "fq-said-bad" }, got.said) : null,
      got.hit ? null : h("b", {}, got.right)));
  };
  const whys = Object.entries(verdict.details.whys);
  return [table(question, cell), whys.length ? h("dl", { class: "fq-columns" }, whys.map(([name, html]) =>
    [h("dt", {}, h("code", {}, name)), h("dd", { html })])) : null];
}

const quote = (text, good) => (text ? h("div", { class: "fq-quote" }, h("q", { class: good ? "fq-said-good" : "fq-said-bad" }, text)) : null);

// what you said, what is missing, what is wrong and why, how it could be said
function spoken({ verdict, labels, saidIt }) {
  const t = verdict.text;
  const part = (title, rows) => (rows.length ? h("section", { class: "fq-part" }, h("h4", {}, title), h("ul", { class: "fq-rows" }, rows)) : null);
  const sections = (entry) => (entry.sections.length ? h("span", { class: "fq-tag" }, entry.sections.join("; ")) : null);
  const found = (entry) => (entry.by ? h("span", { class: "fq-tag" }, entry.by) : null);
  const claim = (entry) => (entry.noted ? h("span", { class: "fq-tag" }, labels.noted)
    : h("button", { type: "button", class: "fq-link fq-said-it", onclick: () => saidIt(entry.id) }, labels.said_it));
  return [
    h("details", { class: "fq-more", open: t.marked.reduce((n, piece) => n + piece.text.length, 0) < 900 ? "" : null },
      h("summary", {}, labels.yours), h("p", { class: "fq-own" }, t.marked.map((piece) =>
        (piece.kind ? h("span", { class: `fq-said-${piece.kind}` }, piece.text) : piece.text)))),
    t.filling ? h("p", { class: "fq-why" }, t.filling) : null,
    part(labels.detected, t.said.map((entry) => h("li", {}, mark("ok"), h("div", { html: "" }, h("span", { html: entry.html }), found(entry), quote(entry.quote, true), why(entry.careful))))),
    part(labels.lacking, t.lacking.map((entry) => h("li", {}, mark("no", labels.not_detected),
      h("div", {}, h("span", { html: entry.html }), sections(entry), why(entry.why), claim(entry))))),
    part(labels.wrong_ideas, [...t.otherwise.map((entry) => ({ ...entry, tag: labels.otherwise })), ...t.wrong].map((entry) => h("li", {}, mark("x"),
      h("div", {}, h("span", { html: entry.html }), entry.tag ? h("span", { class: "fq-tag" }, entry.tag) : null, found(entry), sections(entry), quote(entry.quote, false), why(entry.why))))),
    part(labels.ask_back, t.asked.map((entry) => h("li", {}, mark("no"), h("div", {}, h("span", { html: entry.html }), quote(entry.quote, false))))),
    t.fatal ? h("p", { class: "fq-note" }, t.fatal) : null,
    h("section", { class: "fq-part" }, h("h4", {}, labels.model), h("p", { class: "fq-model", html: t.model })),
    h("section", { class: "fq-part" }, h("h4", {}, labels.listens), h("p", { class: "fq-why", html: t.listens })),
  ];
}

const ANSWERS = { choice: picked, many: picked, number: written, order: arranged, match: joined, trace: filled, text: spoken };

function citation(cited, labels) {
  return h("div", { class: "fq-claim" },
    h("div", { class: "fq-cite" }, h("b", {}, cited.id), h("span", { html: cited.section }),
      h("span", { class: `fq-verdict fq-${{ holds: "good", caveat: "miss", wrong: "bad" }[cited.verdict]}` },
        `${CLAIM[cited.verdict]} ${cited.word}`)),
    h("p", { html: cited.says }),
    cited.corrected ? h("p", { class: "fq-why" }, cited.corrected) : null,
    cited.caveat ? h("p", { class: "fq-why" }, h("b", {}, labels.caveat), " ", h("span", { html: cited.caveat })) : null);
}

// ---- the card

let cards = 0;

function render({ model, el }) {
  const uid = ++cards;
  let serial = 0, timer = 0, previewTimer = 0, saveTimer = 0, pending = false, offline = false, focus = "";
  const waiting = new Map();
  const drafts = { ...model.get("drafts") };
  const root = h("div", { class: "fa-quiz" });
  el.append(root);
  // JupyterLab's own shortcuts would swallow arrow keys and Enter
  root.addEventListener("keydown", (event) => event.stopPropagation());

  const send = (message, after) => {
    if (pending) return;
    pending = true;
    focus = after;
    const question = model.get("view").question.id;
    clearTimeout(timer);
    timer = setTimeout(() => { pending = false; offline = true; draw(); }, 15000 + 1000 * (model.get("view").patience || 0));
    try { model.send({ ...message, question, serial: ++serial }); } catch { pending = false; offline = true; draw(); }
  };
  const save = () => { clearTimeout(saveTimer); model.set("drafts", { ...drafts }); model.save_changes(); };
  const ctxFor = (view) => ({
    uid, question: view.question, labels: view.labels, verdict: view.verdict, draft: drafts[view.question.id],
    keep: (value, delay) => {
      drafts[view.question.id] = value;
      clearTimeout(saveTimer);
      if (delay) saveTimer = setTimeout(save, delay); else save();
    },
    preview: (text, show) => {
      clearTimeout(previewTimer);
      previewTimer = setTimeout(() => { waiting.clear(); waiting.set(++serial, show); model.send({ do: "read", text, serial }); }, 200);
    },
  });

  const alone = (view) => view.dots.length === 1;

  const head = (view) => h("header", { class: "fq-head" },
    h("span", { class: "fq-title", html: "" }, view.title),
    h("span", { class: "fq-soft fq-nums" }, alone(view) ? "" : [view.progress, view.mean].filter(Boolean).join(" · ")),
    h("button", { type: "button", class: "fq-link", lang: view.lang === "zh" ? "en" : "zh-CN", onclick: () => send({ do: "speak" }, ".fq-link") },
      view.labels.other_language));

  const dots = (view) => {
    const bar = h("nav", { class: "fq-dots", "aria-label": view.labels.questions }, view.dots.map((dot, at) =>
      h("button", {
        type: "button", class: `fq-dot fq-${TONE[dot.state] || "open"}`, "aria-label": dot.label, title: dot.label,
        "aria-current": at === view.position ? "step" : null, tabindex: at === view.position ? 0 : -1,
        onclick: () => send({ do: "go", to: at }, `.fq-dot:nth-child(${at + 1})`),
        onkeydown: (event) => {
          const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
          if (!step) return;
          event.preventDefault();
          bar.children[(at + step + view.dots.length) % view.dots.length].focus();
        },
      }, h("span", {}, String(at + 1)), h("span", { class: "fq-tick", "aria-hidden": "true" }, MARKS[dot.state] || ""))));
    return bar;
  };

  const step = (view, to, name, main) => h("button", {
    type: "button", class: `fq-button ${main ? "fq-main" : "fq-step"}`, disabled: to < 0 || to >= view.dots.length,
    onclick: () => send({ do: "go", to }, ".fq-prompt"),
  }, name);

  const asking = (view) => {
    const ctx = ctxFor(view);
    const { body, read } = FORMS[view.question.kind](view, ctx);
    const note = offline ? view.labels.offline : view.note;
    return h("form", {
      onsubmit: (event) => { event.preventDefault(); offline = false; send({ do: "answer", answer: read() }, ".fq-headline, .fq-note"); },
      onkeydown: (event) => { if (event.key === "Enter" && (event.shiftKey || event.ctrlKey)) { event.preventDefault(); event.target.form?.requestSubmit(); } },
    }, h("div", { class: "fq-task" }, view.question.task), body,
      h("div", { class: "fq-foot fq-foot-ask" }, h("button", { type: "submit", class: "fq-button fq-main" }, view.labels.check),
        h("span", { class: "fq-note", role: "alert", tabindex: -1 }, note || "")));
  };

  const reread = (view) => {
    const file = model.get("files")[view.verdict.chapter];
    if (!view.verdict.reread) return null;
    if (!file) return h("span", { class: "fq-soft" }, view.verdict.reread);
    const button = h("button", { type: "button", class: "fq-button", "data-commandlinker-command": "docmanager:open", onclick: () => {
      // JupyterLab opens the notebook beside this one; the folder stands in the page's address
      const folder = decodeURIComponent(location.pathname).match(/\/tree\/(.*\/)?[^/]*$/)?.[1] ?? "";
      button.setAttribute("data-commandlinker-args", JSON.stringify({ path: folder + file }));
    } }, view.verdict.reread);
    return button;
  };

  const judged = (view) => {
    const { verdict, labels } = view;
    const follow = h("div", { class: "fq-follow", hidden: true }, h("p", { html: verdict.follow_up }),
      verdict.follow_up_answer ? h("details", {}, h("summary", {}, labels.follow_answer), h("p", { class: "fq-why", html: verdict.follow_up_answer })) : null);
    const toggle = verdict.follow_up ? h("button", {
      type: "button", class: "fq-button", "aria-expanded": "false",
      onclick: () => { follow.hidden = !follow.hidden; toggle.setAttribute("aria-expanded", String(!follow.hidden)); },
    }, labels.follow) : null;
    return h("div", { class: "fq-judged" },
      h("div", { class: `fq-task fq-headline fq-${TONE[verdict.outcome]}`, tabindex: -1, role: "status" },
        `${MARKS[verdict.outcome]} ${verdict.headline}`),
      ANSWERS[view.question.kind]({ ...view, question: view.question, saidIt: (point) => send({ do: "said", point }, ".fq-said-it") }),
      h("p", { class: "fq-explain", html: verdict.explain }),
      h("section", { class: "fq-claims" },
        verdict.citations.length ? h("h4", {}, labels.source) : null, verdict.citations.map((cited) => citation(cited, labels)),
        verdict.papers.length ? h("h4", {}, labels.papers) : null, verdict.papers.map((paper) => h("p", { class: "fq-soft", html: paper }))),
      h("div", { class: "fq-foot" },
        h("span", { class: "fq-score" }, h("b", {}, String(verdict.score)), ` ${verdict.of}`, h("span", { class: "fq-soft" }, verdict.arithmetic)),
        h("span", { class: "fq-buttons" },
          h("button", { type: "button", class: "fq-button", onclick: () => send({ do: "retry" }, ".fq-prompt") }, labels.again), toggle, reread(view))),
      follow,
      view.note || offline ? h("p", { class: "fq-note", role: "alert" }, offline ? labels.offline : view.note) : null);
  };

  function draw() {
    const view = model.get("view");
    if (!view.question) return;
    root.lang = view.lang === "zh" ? "zh-CN" : "en";
    const { question, labels } = view;
    root.replaceChildren(...[
      head(view), alone(view) ? null : dots(view),
      h("article", { class: "fq-card" },
        h("div", { class: "fq-meta" }, question.meta.map((text) => h("span", {}, text))),
        h("div", { class: "fq-prompt", role: "heading", "aria-level": 3, tabindex: -1, html: question.prompt }),
        view.verdict ? judged(view) : asking(view)),
      alone(view) ? null : h("footer", { class: "fq-steps" }, step(view, view.position - 1, `← ${labels.previous}`),
        view.verdict?.last ? h("span", { class: "fq-soft" }, labels.done) : null,
        step(view, view.position + 1, `${labels.next} →`, view.verdict && view.position + 1 < view.dots.length))].filter(Boolean));
    const target = focus && [...root.querySelectorAll(focus)].find((node) => node.textContent);
    if (target) target.focus({ preventScroll: true });
    focus = "";
  }

  const heard = (message) => {
    if (message.read !== undefined) { waiting.get(message.read)?.(message); waiting.delete(message.read); return; }
    if (message.done === undefined) return;
    clearTimeout(timer);
    pending = offline = false;
    draw();
  };
  const changed = () => { if (!pending) draw(); };
  model.on("change:view", changed);
  model.on("msg:custom", heard);
  draw();
  return () => { clearTimeout(timer); clearTimeout(saveTimer); clearTimeout(previewTimer); model.off("change:view", changed); model.off("msg:custom", heard); };
}

export default { render };
