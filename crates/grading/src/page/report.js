
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { report, items, changes } = data;
  const main = document.getElementById("main");

  // Text is only ever set as text.
  function element(tag, options = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(options)) {
      if (name === "class") made.className = value;
      else if (name === "text") made.textContent = value;
      else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else made.setAttribute(name, value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }
  function drawn(tag, attributes = {}, text) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function percent(rate) {
    if (rate === null || rate === undefined) return "–";
    const tenths = Math.round(rate * 1000) / 10;
    if ((tenths === 100 && rate < 1) || (tenths === 0 && rate > 0)) return (rate * 100).toFixed(3) + " %";
    return tenths.toFixed(1) + " %";
  }
  function seconds(value) {
    if (value === null || value === undefined) return "–";
    if (value < 1e-3) return Math.round(value * 1e6) + " µs";
    if (value < 1) return (value * 1e3).toFixed(1) + " ms";
    return value.toFixed(2) + " s";
  }
  function units(value) {
    if (value === null || value === undefined) return "–";
    if (value < 1e3) return String(Math.round(value));
    if (value < 1e6) return (value / 1e3).toFixed(1) + " k";
    if (value < 1e9) return (value / 1e6).toFixed(1) + " M";
    return (value / 1e9).toFixed(2) + " G";
  }
  const kinds = { passed: "good", ok: "good", failed: "bad", error: "bad", blocked: "odd", refused: "odd", infrastructure_error: "odd" };
  const chip = (word) => element("span", { class: "chip " + (Object.hasOwn(kinds, word) ? kinds[word] : ""), text: word || "–" });

  function card(name, figure, below, rate) {
    const made = element("div", { class: "card" }, element("div", { class: "name", text: name }), element("div", { class: "figure", text: figure }), below ? element("div", { class: "soft", text: below }) : null);
    if (rate !== undefined && rate !== null) {
      const fill = element("div");
      fill.style.width = rate * 100 + "%";
      made.append(element("div", { class: "meter" }, fill));
    }
    return made;
  }

  function bars(rows) {
    const most = Math.max(...rows.map((row) => row.size), 0) || 1;
    const made = element("div", { class: "bars" });
    for (const row of rows) {
      const fill = element("div", { class: "fill " + (row.kind || "") });
      fill.style.width = (100 * row.size) / (row.of || most) + "%";
      if (row.size === 0) fill.style.minWidth = "0";
      made.append(element("div", { class: "label", text: row.name, title: row.name }), element("div", { class: "track" }, fill), element("div", { class: "value", text: row.value }));
    }
    return made;
  }

  // On a logarithmic axis, four bins for each power of ten.
  function distribution(values, shown) {
    const positive = values.filter((value) => value > 0).sort((a, b) => a - b);
    if (positive.length === 0) return element("p", { class: "soft", text: "Nothing was run." });
    const perDecade = 4;
    const bin = (value) => Math.floor(Math.log10(value) * perDecade + 1e-9);
    const first = bin(positive[0]);
    const count = Math.max(bin(positive[positive.length - 1]) - first + 1, 6);
    const counts = new Array(count).fill(0);
    for (const value of positive) counts[bin(value) - first] += 1;
    const width = 520, height = 190, left = 34, right = 10, top = 12, bottom = 26;
    const most = Math.max(...counts);
    const step = (width - left - right) / count;
    const y = (n) => height - bottom - ((height - top - bottom) * n) / most;
    const x = (value) => left + (Math.log10(value) * perDecade - first) * step;
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
    for (const n of most > 1 ? [0, Math.round(most / 2), most] : [0, most]) {
      svg.append(drawn("line", { x1: left, x2: width - right, y1: y(n), y2: y(n) }), drawn("text", { x: left - 6, y: y(n) + 4, "text-anchor": "end" }, n));
    }
    counts.forEach((n, index) => {
      if (n === 0) return;
      const from = 10 ** ((first + index) / perDecade), to = 10 ** ((first + index + 1) / perDecade);
      const bar = drawn("rect", { x: left + index * step + 1, y: y(n), width: Math.max(step - 2, 1), height: height - bottom - y(n), rx: 2 });
      bar.append(drawn("title", {}, `${n} from ${shown(from)} to ${shown(to)}`));
      svg.append(bar);
    });
    const middle = positive[Math.floor((positive.length - 1) / 2)];
    svg.append(drawn("line", { class: "mark", x1: x(middle), x2: x(middle), y1: top - 6, y2: height - bottom }));
    // Powers of ten where there are enough of them.
    const places = [...Array(count + 1).keys()];
    const round = places.filter((index) => (first + index) % perDecade === 0);
    const some = round.length >= 2 ? round : places.filter((index) => index % 2 === 0);
    const every = Math.ceil(some.length / 8);
    for (const index of some.filter((_, place) => place % every === 0)) {
      const at = Math.min(Math.max(left + index * step, 24), width - 28);
      svg.append(drawn("text", { x: at, y: height - 7, "text-anchor": "middle" }, shown(10 ** ((first + index) / perDecade)).replace(/\.0+ /, " ")));
    }
    svg.setAttribute("aria-label", `Distribution of ${positive.length} values, median ${shown(middle)}`);
    return svg;
  }
  const panel = (title, ...content) => element("section", { class: "panel" }, element("h2", { text: title }), ...content);

  // Head
  main.append(element("h1", { text: data.title }));
  const runtime = data.runtime ? `CPython ${data.runtime.python}, image ${String(data.runtime.image_hash).slice(0, 19)}…` : "";
  main.append(element("p", { class: "soft", text: [data.written, runtime].filter(Boolean).join(" · ") }));
  for (const warning of data.warnings) main.append(element("p", { class: "notice", text: warning }));

  // Figures
  const cards = element("div", { class: "cards" });
  cards.append(card("pass rate", percent(report.pass_rate), `${report.passed} of ${report.graded} graded`, report.pass_rate));
  for (const [k, rate] of Object.entries(report.pass_at_k)) {
    cards.append(card("pass@" + k, percent(rate), rate === null ? "too few samples" : `${report.tasks} tasks`, rate));
  }
  cards.append(card("tests", percent(report.tests_pass_rate), `${report.tests_passed} of ${report.tests_total}`, report.tests_pass_rate));
  if (report.lint) cards.append(card("lint clean", percent(report.lint.clean_rate), `${report.lint.clean} of ${report.lint.linted}`, report.lint.clean_rate));
  if (report.execution_seconds) cards.append(card("median time", seconds(report.execution_seconds.median), "p99 " + seconds(report.execution_seconds.p99)));
  if (report.fuel_used) cards.append(card("median fuel", units(report.fuel_used.median), "p99 " + units(report.fuel_used.p99)));
  for (const [field, name] of [["ok", "ran to the end"], ["errors", "errors"], ["blocked", "blocked"], ["refused", "refused"], ["no_code", "answers without code"], ["infrastructure_errors", "infrastructure errors"]]) {
    if (report[field] > 0) cards.append(card(name, String(report[field]), field === "infrastructure_errors" ? "in no rate" : ""));
  }
  main.append(cards);

  if (data.required.length > 0) {
    const list = element("div");
    for (const one of data.required) list.append(element("div", {}, element("span", { class: "chip " + (one.holds ? "good" : "bad"), text: one.holds ? "holds" : "fails" }), " ", element("span", { class: "mono", text: one.text })));
    main.append(panel("Required", list));
  }
  if (changes) {
    const lists = element("div");
    const jump = (id) => element("button", { text: id, onclick: () => { search.value = id; draw(); table.scrollIntoView(); } });
    for (const [name, ids] of [["Newly failing", changes.newly_failing], ["Newly passing", changes.newly_passing]]) {
      lists.append(element("h3", { text: `${name}: ${ids.length}` }), element("div", { class: "tools" }, ...ids.slice(0, 100).map(jump)));
    }
    const fuel = changes.fuel_change === null ? "not comparable" : (changes.fuel_change * 100).toFixed(1) + " %";
    lists.append(element("p", { class: "soft", text: `Pass rate ${percent(changes.pass_rate_before)} → ${percent(changes.pass_rate)}. Median change of fuel: ${fuel}. ${changes.added} items are new, ${changes.removed} are gone.` }));
    main.append(panel("Since the baseline", lists));
  }

  // Plots
  const panels = element("div", { class: "panels" });
  const classes = Object.entries(report.by_class).sort((a, b) => b[1] - a[1]);
  if (classes.length > 0) panels.append(panel("Classes of failure", bars(classes.map(([name, count]) => ({ name, size: count, value: String(count), kind: name === "none" ? "good" : "bad" })))));
  for (const [label, values] of Object.entries(report.by_label)) {
    const rows = Object.entries(values);
    if (rows.length < 2) continue;
    rows.sort((a, b) => (b[1].pass_rate ?? -1) - (a[1].pass_rate ?? -1));
    const shown = rows.slice(0, 30).map(([name, share]) => ({ name, size: share.pass_rate ?? 0, of: 1, value: `${percent(share.pass_rate)} of ${share.graded}`, kind: "good" }));
    panels.append(panel("Pass rate by " + label, bars(shown), rows.length > 30 ? element("p", { class: "soft", text: `and ${rows.length - 30} more` }) : null));
  }
  panels.append(panel("Fuel", distribution(items.map((item) => item.fuel), units)), panel("Execution time", distribution(items.map((item) => item.seconds), seconds)));
  main.append(panels);

  // Items
  const columns = [
    { name: "item", of: (item) => item.id, cell: (item) => element("td", { class: "id", text: item.id }) },
    { name: "status", of: (item) => item.status, cell: (item) => element("td", {}, chip(item.status)) },
    { name: "class", of: (item) => item.class || "", cell: (item) => element("td", { text: item.class === "none" ? "" : item.class || "" }) },
    { name: "tests", number: true, of: (item) => (item.total ? item.passed / item.total : -1), cell: (item) => element("td", { class: "number", text: item.total ? `${item.passed} / ${item.total}` : "" }) },
    { name: "time", number: true, of: (item) => item.seconds ?? -1, cell: (item) => element("td", { class: "number", text: seconds(item.seconds) }) },
    { name: "fuel", number: true, of: (item) => item.fuel ?? -1, cell: (item) => element("td", { class: "number", text: units(item.fuel) }) },
  ];
  if (report.lint) columns.push({ name: "lint", number: true, of: (item) => (item.lint ? item.lint.length : -1), cell: (item) => element("td", { class: "number", text: item.lint ? String(item.lint.length) : "–" }) });
  const page = 200;
  const state = { column: null, down: false, shown: page };
  const search = element("input", { type: "search", placeholder: "Filter by id, class, label, message", "aria-label": "Filter", oninput: () => { state.shown = page; draw(); } });
  const statuses = [...new Set(items.map((item) => item.status))].sort();
  const select = element("select", { "aria-label": "Status", onchange: () => { state.shown = page; draw(); } }, element("option", { value: "", text: "every status" }), ...statuses.map((status) => element("option", { value: status, text: status })));
  const counted = element("span", { class: "soft" });
  const body = element("tbody");
  const heads = columns.map((column) => {
    const sort = () => {
      state.down = state.column === column ? !state.down : false;
      state.column = column;
      draw();
    };
    return element("th", { class: column.number ? "number" : "", scope: "col" }, element("button", { text: column.name, onclick: sort }));
  });
  const more = element("button", { text: "Show more", onclick: () => { state.shown += page; draw(); } });
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body);
  main.append(panel("Items", element("div", { class: "tools" }, search, select, counted), element("div", { class: "scroll" }, table), element("p", {}, more)));

  const haystacks = new Map(items.map((item) => [item, [item.id, item.task, item.class, item.error, ...Object.entries(item.labels || {}).map(([name, value]) => name + "=" + value), ...item.cases.map((one) => one.message || "")].join("\n").toLowerCase()]));

  function text(title, content) {
    return content ? [element("h3", { text: title }), element("pre", { text: content })] : [];
  }
  function detail(item) {
    const inside = element("td", { colspan: columns.length });
    const facts = [`task ${item.task}`, item.level ? `grading ${item.level}` : "", item.memory ? `memory ${Math.round(item.memory / 1048576)} MiB` : "", ...Object.entries(item.labels || {}).map(([name, value]) => `${name}=${value}`), ...(item.signals || []).map((signal) => "signal: " + signal)];
    inside.append(element("p", { class: "soft", text: facts.filter(Boolean).join(" · ") }));
    if (item.error || item.errorType) inside.append(...text(item.line ? `Error, line ${item.line}` : "Error", [item.errorType, item.error].filter(Boolean).join(": ")));
    if (item.cases.length > 0) {
      const rows = item.cases.map((one) => element("tr", {}, element("td", {}, chip(one.status === "passed" ? "passed" : one.status)), element("td", {}, element("div", { class: "mono", text: one.name }), one.message ? element("div", { class: "mono soft", text: one.message }) : null), element("td", { class: "number", text: seconds(one.seconds) }), element("td", { class: "number", text: units(one.fuel) })));
      inside.append(element("h3", { text: "Cases" }), element("table", {}, element("tbody", {}, ...rows)));
      if (item.moreCases > 0) inside.append(element("p", { class: "soft", text: `and ${item.moreCases} more` }));
    }
    if (item.lint && item.lint.length > 0) inside.append(...text("Lint", item.lint.map((one) => `${one.line ?? ""}: ${one.code} ${one.message}`).join("\n")));
    inside.append(...text("Program", item.code), ...text("stdout", item.stdout), ...text("stderr", item.stderr));
    return element("tr", { class: "detail" }, inside);
  }
  function row(item) {
    const made = element("tr", { class: "item", tabindex: "0" }, ...columns.map((column) => column.cell(item)));
    const toggle = () => {
      if (made.classList.toggle("open")) made.after(detail(item));
      else made.nextElementSibling.remove();
    };
    made.addEventListener("click", toggle);
    made.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        toggle();
      }
    });
    return made;
  }
  function draw() {
    const wanted = search.value.toLowerCase();
    let shown = items.filter((item) => (!select.value || item.status === select.value) && (!wanted || haystacks.get(item).includes(wanted)));
    if (state.column) {
      const { of } = state.column;
      const sign = state.down ? -1 : 1;
      shown = shown.slice().sort((a, b) => {
        const [x, y] = [of(a), of(b)];
        return sign * (typeof x === "number" ? x - y : String(x).localeCompare(String(y), undefined, { numeric: true }));
      });
    }
    columns.forEach((column, index) => {
      const active = state.column === column;
      heads[index].setAttribute("aria-sort", active ? (state.down ? "descending" : "ascending") : "none");
      heads[index].firstChild.textContent = column.name + (active ? (state.down ? " ↓" : " ↑") : "");
    });
    counted.textContent = shown.length === items.length ? `${items.length} items` : `${shown.length} of ${items.length} items`;
    body.replaceChildren(...shown.slice(0, state.shown).map(row));
    more.hidden = shown.length <= state.shown;
  }
  draw();
})();
