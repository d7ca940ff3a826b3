// The picture of a mock interview, drawn around the quiz card's forms. It knows no answers.

const clockText = (seconds) => {
  const whole = Math.abs(Math.round(seconds));
  return `${seconds < 0 ? "+" : ""}${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
};

function save(name, kind, text) {
  const address = URL.createObjectURL(new Blob([text], { type: kind }));
  const link = h("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

// one of several, as radio buttons that look like a row of segments
function segments(name, title, options, chosen, change) {
  return h("fieldset", { class: "fi-row" }, h("legend", {}, title), h("div", { class: "fi-segments" }, options.map((option) =>
    h("label", { class: "fi-segment" },
      h("input", { type: "radio", name, value: option.value, checked: option.value === chosen, onchange: () => change(option.value) }),
      h("span", {}, option.label)))));
}

function choosing(view, uid, begin) {
  const { choose, labels } = view;
  const picked = { ...choose.chosen, topics: new Set(choose.chosen.topics) };
  const about = h("span", { class: "fq-soft", "aria-live": "polite" });
  const say = () => { about.textContent = choose.minutes.find((one) => one.value === picked.minutes)?.about ?? ""; };
  say();
  const boxes = choose.topics.map((topic) => {
    const input = h("input", {
      type: "checkbox", value: topic.value, checked: picked.topics.has(topic.value),
      onchange: () => { if (input.checked) picked.topics.add(topic.value); else picked.topics.delete(topic.value); every.checked = !picked.topics.size; },
    });
    return [input, h("label", { class: "fi-topic" }, input, h("span", {}, topic.label), h("span", { class: "fi-count" }, String(topic.count)))];
  });
  const every = h("input", { type: "checkbox", checked: !picked.topics.size, onchange: () => {
    picked.topics.clear();
    for (const [input] of boxes) input.checked = false;
    every.checked = true;
  } });
  return h("form", { class: "fi-choose", onsubmit: (event) => { event.preventDefault(); begin({ ...picked, topics: [...picked.topics] }); } },
    h("p", { class: "fi-intro" }, labels.choose),
    segments(`fi-minutes-${uid}`, labels.minutes, choose.minutes, picked.minutes, (value) => { picked.minutes = value; say(); }),
    segments(`fi-level-${uid}`, labels.level, choose.levels, picked.level, (value) => { picked.level = value; }),
    choose.scopes.length ? segments(`fi-scope-${uid}`, labels.scope, choose.scopes, picked.scope, (value) => { picked.scope = value; }) : null,
    h("fieldset", { class: "fi-row" }, h("legend", {}, labels.topics), h("div", { class: "fi-topics" },
      h("label", { class: "fi-topic" }, every, h("span", {}, labels.all)), boxes.map(([, label]) => label))),
    h("div", { class: "fq-foot fq-foot-ask" }, h("button", { type: "submit", class: "fq-button fq-main" }, labels.start), about,
      h("span", { class: "fq-note", role: "alert" }, view.note || "")));
}

function clock(view, labels) {
  const { left, whole } = view.clock;
  const end = performance.now() + left * 1000;
  const text = h("b", { class: "fi-time" });
  const word = h("span", { class: "fq-soft" });
  const line = h("i");
  const said = h("span", { class: "fi-hidden", role: "status" });
  const box = h("div", { class: "fi-clock", role: "timer", "aria-label": labels.left }, text, " ", word, said);
  const tick = () => {
    const now = (end - performance.now()) / 1000;
    const phase = now <= 0 ? "time_up" : now <= 60 ? "last_minute" : "left";
    text.textContent = clockText(now);
    if (word.textContent !== labels[phase]) {
      word.textContent = labels[phase];
      if (phase !== "left") said.textContent = labels[phase];
    }
    box.classList.toggle("fi-late", phase !== "left");
    line.style.width = `${Math.max(0, Math.min(100, (100 * now) / whole))}%`;
  };
  tick();
  return { box, bar: h("div", { class: "fi-bar", "aria-hidden": "true" }, line), tick };
}

function bars(topics) {
  return h("ul", { class: "fi-scores" }, topics.map((row) => h("li", {},
    h("span", {}, row.name), h("span", { class: "fi-track" }, h("i", { style: `width:${row.score}%` })),
    h("b", {}, String(row.score)), h("span", { class: "fq-soft" }, row.fatal ? [mark("wrong"), " "] : null, row.asked))));
}

function reading(view, open) {
  const { report, labels } = view;
  const part = (title, ...body) => h("section", { class: "fq-part" }, h("h4", {}, title), ...body);
  const rows = (points, kind) => h("ul", { class: "fq-rows" }, points.map((point) => h("li", {}, mark(kind, kind === "no" ? labels.not_detected : null),
    h("div", {}, point.context ? h("p", { class: "fq-why", html: point.context }) : null,
      h("span", { html: point.html }), point.tags.map((tag) => h("span", { class: `fq-tag${point.bad ? " fq-bad" : ""}` }, tag)),
      quote(point.quote, false), why(point.why), h("p", { class: "fi-source" }, point.sections,
        kind === "no" ? null : [point.sections ? " · " : "", open(point.chapter, point.chapter_label)])))));
  const chapter = (row) => h("div", { class: "fi-reread" }, open(row.chapter, row.label, true), row.points.length ? rows(row.points, "no") : null);
  const entry = (q) => h("details", { class: "fi-entry" },
    h("summary", {}, h("b", {}, String(q.score)), h("span", { html: q.prompt }), h("span", { class: "fq-soft" }, `${q.topic} · ${q.time}`)),
    h("div", { class: "fi-inside" },
      q.halves ? h("p", { class: "fq-why" }, q.halves) : null,
      h("h4", {}, labels.yours), h("p", { class: "fq-own fq-answer" }, q.answer),
      q.note ? [h("h4", {}, labels.note), h("p", { class: "fq-why" }, q.note)] : null,
      q.probe_answer ? [h("h4", { html: q.probe_lead }), h("p", { class: "fq-own fq-answer" }, q.probe_answer)] : null,
      q.said.length ? [h("h4", {}, labels.said), h("ul", { class: "fq-rows" }, q.said.map((item) => h("li", {}, mark("ok"), h("div", {}, h("span", { html: item.html }), quote(item.quote, true), why(item.why)))))] : null,
      q.recovered.length ? [h("h4", {}, labels.recovered), h("ul", { class: "fq-rows" }, q.recovered.map((html) => h("li", {}, mark("part"), h("div", { html }))))] : null,
      h("h4", {}, q.model ? labels.model : labels.explained), h("p", { class: "fq-model", html: q.model || q.explain }),
      q.listens ? [h("h4", {}, labels.listens), h("p", { class: "fq-why", html: q.listens })] : null,
      q.follow_up ? [h("h4", {}, labels.follow), h("p", { class: "fq-why", html: q.follow_up }),
        h("details", {}, h("summary", {}, labels.follow_answer), h("p", { class: "fq-why", html: q.follow_up_answer }))] : null));
  return [
    h("p", { class: "fi-summary" }, report.summary),
    report.blocked ? h("p", { class: "fi-blocked" }, mark("wrong"), " ", h("span", { html: report.blocked })) : null,
    report.topics.length ? part(labels.by_topic, bars(report.topics)) : null,
    report.wrong.length ? part(labels.wrong, rows(report.wrong, "wrong")) : null,
    report.missed.length ? part(labels.missed, report.missed.map(chapter)) : report.questions.length && !report.wrong.length ? h("p", { class: "fq-why" }, labels.none_missed) : null,
    report.questions.length ? part(labels.questions, report.questions.map(entry)) : null,
  ];
}

function renderInterview({ model, el }) {
  const uid = ++cards;
  let serial = 0, timer = 0, ticking = 0, saveTimer = 0, previewTimer = 0, pending = false, offline = false, focus = "", wanted = null;
  const waiting = new Map();
  const drafts = { ...model.get("drafts") };
  const root = h("div", { class: "fa-quiz fa-interview" });
  el.append(root);
  // JupyterLab's own shortcuts would swallow arrow keys and Enter
  root.addEventListener("keydown", (event) => event.stopPropagation());

  const send = (message, after) => {
    if (pending) return;
    pending = true;
    focus = after;
    clearTimeout(timer);
    timer = setTimeout(() => { pending = false; offline = true; draw(); }, 15000);
    try { model.send({ ...message, key: model.get("view").key, serial: ++serial }); } catch { pending = false; offline = true; draw(); }
  };
  const keepDrafts = () => { clearTimeout(saveTimer); model.set("drafts", { ...drafts }); model.save_changes(); };
  const FRONT = ".fq-prompt, .fi-summary";

  const open = (chapter, text, boxed) => {
    const file = model.get("files")[chapter];
    const look = boxed ? "fq-button" : "fq-link";
    if (!file) return h("span", { class: boxed ? "fi-chapter" : "" }, text);
    const button = h("button", { type: "button", class: look, "data-commandlinker-command": "docmanager:open", onclick: () => {
      const folder = decodeURIComponent(location.pathname).match(/\/tree\/(.*\/)?[^/]*$/)?.[1] ?? "";
      button.setAttribute("data-commandlinker-args", JSON.stringify({ path: folder + file }));
    } }, text);
    return button;
  };

  const head = (view, ...middle) => h("header", { class: "fq-head fi-head" },
    h("span", { class: "fq-title" }, view.phase === "report" ? view.labels.report_title : view.labels.title), ...middle,
    h("button", { type: "button", class: "fq-link", lang: view.lang === "zh" ? "en" : "zh-CN", onclick: () => send({ do: "speak" }, ".fi-head .fq-link") },
      view.labels.other_language));

  const asking = (view) => {
    const { question, labels, key } = view;
    const ctx = {
      uid, question, labels, verdict: null, draft: drafts[key],
      keep: (value, delay) => {
        drafts[key] = value;
        clearTimeout(saveTimer);
        if (delay) saveTimer = setTimeout(keepDrafts, delay); else keepDrafts();
      },
      preview: (text, show) => {
        clearTimeout(previewTimer);
        previewTimer = setTimeout(() => { waiting.clear(); waiting.set(++serial, show); model.send({ do: "read", text, serial }); }, 200);
      },
    };
    const { body, read } = FORMS[question.kind](view, ctx);
    const time = clock(view, labels);
    ticking = setInterval(time.tick, 250);
    return [
      head(view, time.box), time.bar,
      h("article", { class: "fq-card" },
        h("div", { class: "fq-meta" }, question.meta.map((text) => h("span", {}, text))),
        question.lead ? h("p", { class: "fi-lead", html: question.lead }) : null,
        h("div", { class: "fq-prompt", role: "heading", "aria-level": 3, tabindex: -1, html: question.prompt }),
        question.context ? h("p", { class: "fq-why fi-context" }, labels.about, ": ", h("span", { html: question.context })) : null,
        h("form", {
          onsubmit: (event) => { event.preventDefault(); offline = false; send({ do: "answer", answer: read() }, `${FRONT}, .fq-note`); },
          onkeydown: (event) => { if (event.key === "Enter" && (event.shiftKey || event.ctrlKey)) { event.preventDefault(); event.target.form?.requestSubmit(); } },
        }, h("div", { class: "fq-task" }, question.task), body,
          h("div", { class: "fq-foot fq-foot-ask" },
            h("button", { type: "submit", class: "fq-button fq-main" }, labels.hand_in),
            h("button", { type: "button", class: "fq-button", onclick: () => send({ do: "skip" }, FRONT) }, labels.skip),
            h("span", { class: "fq-note", role: "alert", tabindex: -1 }, offline ? labels.offline : view.note || ""),
            h("button", { type: "button", class: "fq-link fi-end", onclick: () => send({ do: "finish" }, FRONT) }, labels.finish))))];
  };

  const reported = (view) => {
    const { labels } = view;
    const ask = (as) => {
      wanted = as;
      model.send({ do: "export", as, serial: ++serial });
    };
    return [head(view), h("div", { class: "fq-judged fi-report" }, reading(view, open)),
      h("div", { class: "fq-foot" }, h("span", { class: "fq-buttons" },
        h("button", { type: "button", class: "fq-button", onclick: () => ask("md") }, labels.markdown),
        h("button", { type: "button", class: "fq-button", onclick: () => ask("html") }, labels.html),
        h("span", { class: "fq-note", role: "alert" }, offline ? labels.offline : view.note || "")),
      h("button", { type: "button", class: "fq-button fq-main", onclick: () => send({ do: "again" }, ".fi-segment input:checked") }, labels.again))];
  };

  function draw() {
    const view = model.get("view");
    if (!view.phase) return;
    clearInterval(ticking);
    root.lang = view.lang === "zh" ? "zh-CN" : "en";
    const begin = (picked) => { offline = false; send({ do: "start", ...picked }, FRONT); };
    const parts = view.phase === "choose" ? [head(view), choosing(offline ? { ...view, note: view.labels.offline } : view, uid, begin)]
      : view.phase === "asking" ? asking(view) : reported(view);
    root.replaceChildren(...parts.filter(Boolean));
    const target = focus && [...root.querySelectorAll(focus)].find((node) => node.textContent || node.value);
    if (target) {
      if (target.matches(".fi-summary")) target.tabIndex = -1;
      target.focus({ preventScroll: true });
      const top = root.getBoundingClientRect().top;
      if (focus.includes("fq-prompt") && (top < 0 || top > innerHeight / 2)) root.scrollIntoView({ block: "start" });
    }
    focus = "";
  }

  const heard = (message) => {
    if (message.read !== undefined) { waiting.get(message.read)?.(message); waiting.delete(message.read); return; }
    if (message.file !== undefined) {
      save(`interview.${wanted}`, wanted === "md" ? "text/markdown" : "text/html", message.file);
      return;
    }
    if (message.done === undefined) return;
    clearTimeout(timer);
    pending = offline = false;
    draw();
  };
  const changed = () => { if (!pending) draw(); };
  model.on("change:view", changed);
  model.on("msg:custom", heard);
  draw();
  // after a reload the clock in the view is old
  if (model.get("view").phase === "asking") send({ do: "look" }, "");
  return () => {
    [timer, saveTimer, previewTimer].forEach(clearTimeout);
    clearInterval(ticking);
    model.off("change:view", changed);
    model.off("msg:custom", heard);
  };
}

export default { render: renderInterview };
