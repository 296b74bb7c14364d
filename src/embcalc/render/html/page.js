"use strict";
const tables = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const tip = byId("tip");
const PAGE = 50;
const state = { table: 0, page: 0, key: "norm", down: false, order: [] };

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}
function number(value) {
  if (value === null) return "not finite";
  if (value !== 0 && (Math.abs(value) < 1e-4 || Math.abs(value) >= 1e5)) return value.toExponential(2);
  return String(Number(value.toPrecision(5)));
}
function token(table, row) {
  const text = table.tokens ? table.tokens[row] : null;
  return text === null || text === undefined ? "" : '"' + text + '"';
}
function describe(table, row) {
  const flags = table.flagged[row] ? "\n" + table.flagged[row].join(", ") : "";
  return "row " + row + " " + token(table, row) + "\nnorm " + number(table.norms[row]) + flags;
}
function prepare(table) {
  table.flagged = {};
  for (const [name, rows] of Object.entries(table.flags))
    for (const row of rows) (table.flagged[row] = table.flagged[row] || []).push(name);
  table.finite = [];
  table.norms.forEach((norm, row) => { if (norm !== null) table.finite.push(row); });
  table.sorted = table.finite.slice().sort((a, b) => table.norms[a] - table.norms[b]);
}

// Pictures: each returns what lies under a point, for the hover text.
const MARGIN = { left: 56, right: 12, top: 12, bottom: 34 };
function surface(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = width * ratio; canvas.height = height * ratio;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.font = "11px system-ui, sans-serif";
  return { pen, width, height };
}
function scale(low, high, from, to) {
  const span = high - low || 1;
  const at = (value) => from + (value - low) / span * (to - from);
  at.back = (pixel) => low + (pixel - from) / (to - from) * span;
  return at;
}
function steps(low, high, count) {
  const raw = (high - low) / count || 1, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= raw);
  const marks = [];
  for (let mark = Math.ceil(low / step) * step; mark <= high + step / 1e6; mark += step) marks.push(mark);
  return marks;
}
function axes(pen, width, height, x, y, xs, ys, xname, yname) {
  pen.strokeStyle = colour("line"); pen.fillStyle = colour("soft"); pen.lineWidth = 1;
  pen.textAlign = "center"; pen.textBaseline = "top";
  for (const mark of xs) pen.fillText(number(mark), x(mark), height - MARGIN.bottom + 4);
  pen.fillText(xname, (MARGIN.left + width - MARGIN.right) / 2, height - 14);
  pen.textAlign = "right"; pen.textBaseline = "middle";
  for (const mark of ys) {
    pen.fillText(number(mark), MARGIN.left - 5, y(mark));
    pen.beginPath(); pen.moveTo(MARGIN.left, y(mark)); pen.lineTo(width - MARGIN.right, y(mark)); pen.stroke();
  }
  pen.save(); pen.translate(9, height / 2); pen.rotate(-Math.PI / 2); pen.textAlign = "center";
  pen.fillText(yname, 0, 0); pen.restore();
}
function frame(canvas, xlow, xhigh, ylow, yhigh, xname, yname) {
  const { pen, width, height } = surface(canvas);
  const x = scale(xlow, xhigh, MARGIN.left, width - MARGIN.right);
  const y = scale(ylow, yhigh, height - MARGIN.bottom, MARGIN.top);
  axes(pen, width, height, x, y, steps(xlow, xhigh, Math.max(2, width / 110)), steps(ylow, yhigh, 5), xname, yname);
  return { pen, x, y, width, height };
}
function dashed(pen, x1, y1, x2, y2) {
  pen.strokeStyle = colour("red"); pen.setLineDash([5, 4]);
  pen.beginPath(); pen.moveTo(x1, y1); pen.lineTo(x2, y2); pen.stroke(); pen.setLineDash([]);
}
function histogram(canvas, table) {
  const { edges, counts } = table.histogram, total = counts.reduce((a, b) => a + b, 0);
  // The outer bins reach to the furthest rows; they are drawn as wide as the others.
  const inner = edges.length > 3 ? edges[2] - edges[1] : edges[1] - edges[0];
  const shown = edges.slice();
  if (edges.length > 3) {
    shown[0] = Math.max(edges[0], edges[1] - inner);
    shown[shown.length - 1] = Math.min(edges[edges.length - 1], edges[edges.length - 2] + inner);
  }
  const f = frame(canvas, shown[0], shown[shown.length - 1], 0, Math.max(...counts), "row norm", "rows");
  f.pen.fillStyle = colour("blue");
  counts.forEach((count, i) => {
    const left = f.x(shown[i]), right = f.x(shown[i + 1]);
    f.pen.fillRect(left + 0.5, f.y(count), Math.max(1, right - left - 1), f.y(0) - f.y(count));
  });
  if (table.fresh >= shown[0] && table.fresh <= shown[shown.length - 1])
    dashed(f.pen, f.x(table.fresh), f.y(0), f.x(table.fresh), MARGIN.top);
  return (px) => {
    const value = f.x.back(px);
    const i = counts.findIndex((_, k) => value >= shown[k] && value < shown[k + 1]);
    if (i < 0) return null;
    return number(edges[i]) + " – " + number(edges[i + 1]) + "\n" + counts[i].toLocaleString() +
      " rows, " + (100 * counts[i] / total).toFixed(1) + "%";
  };
}
function ends(table) {
  const low = table.norms[table.sorted[0]], high = table.norms[table.sorted[table.sorted.length - 1]];
  return low === high ? [low - 0.5, high + 0.5] : [low, high];
}
function byRow(canvas, table) {
  const [low, high] = ends(table), last = Math.max(1, table.norms.length - 1);
  const f = frame(canvas, 0, last, low, high, "row (token id)", "row norm");
  const dot = (rows, name, size) => {
    f.pen.fillStyle = colour(name);
    for (const row of rows) f.pen.fillRect(f.x(row) - size / 2, f.y(table.norms[row]) - size / 2, size, size);
  };
  dot(table.finite, "blue", table.finite.length > 5000 ? 1.5 : 3);
  const ill = ["zero", "near-zero"].flatMap((name) => table.flags[name] || []);
  dot((table.flags.special || []).filter((row) => table.norms[row] !== null), "orange", 5);
  dot(ill, "red", 6);
  label(f, table, (table.flags.special || []).slice(0, 8));
  return (px, py) => {
    let best = null, near = 144;
    const from = Math.max(0, Math.floor(f.x.back(px - 8))), to = Math.min(last, Math.ceil(f.x.back(px + 8)));
    for (let row = from; row <= to; row += 1) {
      if (table.norms[row] === null) continue;
      const away = (f.x(row) - px) ** 2 + (f.y(table.norms[row]) - py) ** 2;
      if (away < near) { near = away; best = row; }
    }
    return best === null ? null : describe(table, best);
  };
}
function label(f, table, rows) {
  f.pen.fillStyle = colour("ink"); f.pen.textBaseline = "bottom";
  const taken = [];
  for (const row of rows) {
    if (table.norms[row] === null) continue;
    const x = f.x(row), y = f.y(table.norms[row]);
    if (taken.some(([tx, ty]) => Math.abs(tx - x) < 90 && Math.abs(ty - y) < 13)) continue;
    taken.push([x, y]);
    f.pen.textAlign = x > f.width / 2 ? "right" : "left";
    f.pen.fillText(token(table, row).slice(0, 18), x + (x > f.width / 2 ? -5 : 5), y - 2);
  }
}
function inOrder(canvas, table) {
  const [low, high] = ends(table), count = table.sorted.length;
  const f = frame(canvas, 1, Math.max(2, count), low, high, "rows, sorted by norm", "row norm");
  f.pen.strokeStyle = colour("blue"); f.pen.lineWidth = 2; f.pen.beginPath();
  const step = Math.max(1, Math.floor(count / 2000));
  for (let i = 0; i < count; i += step) f.pen.lineTo(f.x(i + 1), f.y(table.norms[table.sorted[i]]));
  f.pen.lineTo(f.x(count), f.y(table.norms[table.sorted[count - 1]]));
  f.pen.stroke(); f.pen.lineWidth = 1;
  if (table.fresh >= low && table.fresh <= high) dashed(f.pen, MARGIN.left, f.y(table.fresh), f.width - MARGIN.right, f.y(table.fresh));
  return (px) => {
    const i = Math.min(count - 1, Math.max(0, Math.round(f.x.back(px)) - 1));
    return describe(table, table.sorted[i]);
  };
}
const PICTURES = { histogram, "by-row": byRow, "in-order": inOrder };
const under = {};
function draw() {
  const table = tables[state.table];
  for (const [id, picture] of Object.entries(PICTURES))
    under[id] = table.sorted.length ? picture(byId(id), table) : () => null;
}
for (const id of Object.keys(PICTURES)) {
  const canvas = byId(id);
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const text = under[id](event.clientX - box.left, event.clientY - box.top);
    tip.style.display = text ? "block" : "none";
    if (!text) return;
    tip.textContent = text;
    const left = event.clientX + 14 + tip.offsetWidth > window.innerWidth ? event.clientX - tip.offsetWidth - 14 : event.clientX + 14;
    tip.style.left = Math.max(4, left) + "px";
    tip.style.top = Math.min(window.innerHeight - tip.offsetHeight - 4, event.clientY + 14) + "px";
  });
  canvas.addEventListener("pointerleave", () => { tip.style.display = "none"; });
}

// The table of rows.
function select() {
  const table = tables[state.table];
  const wanted = byId("search").value.trim().toLowerCase(), flag = byId("flag").value;
  const allowed = flag ? new Set(table.flags[flag]) : null;
  const rows = [];
  for (let row = 0; row < table.norms.length; row += 1) {
    if (allowed && !allowed.has(row)) continue;
    if (wanted && String(row) !== wanted && !(table.tokens && (table.tokens[row] || "").toLowerCase().includes(wanted))) continue;
    rows.push(row);
  }
  const sign = state.down ? -1 : 1;
  const value = {
    id: (row) => row,
    norm: (row) => (table.norms[row] === null ? -Infinity : table.norms[row]),
    token: (row) => (table.tokens && table.tokens[row]) || "",
  }[state.key];
  rows.sort((a, b) => {
    const one = value(a), other = value(b);
    return sign * (one < other ? -1 : one > other ? 1 : 0) || a - b;
  });
  state.order = rows;
}
function cell(line, text, name) {
  const made = document.createElement("td");
  made.textContent = text; made.className = name;
  line.append(made);
  return made;
}
function list() {
  const table = tables[state.table], body = byId("rows");
  const pages = Math.max(1, Math.ceil(state.order.length / PAGE));
  state.page = Math.min(state.page, pages - 1);
  body.replaceChildren();
  for (const row of state.order.slice(state.page * PAGE, (state.page + 1) * PAGE)) {
    const line = document.createElement("tr");
    cell(line, row, "number"); cell(line, token(table, row), "token"); cell(line, number(table.norms[row]), "number");
    const flags = cell(line, "", "");
    for (const name of table.flagged[row] || []) {
      const mark = document.createElement("span");
      mark.className = "flag " + name; mark.textContent = name; flags.append(mark);
    }
    body.append(line);
  }
  byId("where").textContent = state.order.length.toLocaleString() + " rows, page " + (state.page + 1) + " of " + pages.toLocaleString();
  byId("previous").disabled = state.page === 0;
  byId("next").disabled = state.page >= pages - 1;
  for (const button of document.querySelectorAll("th button")) {
    const on = button.dataset.key === state.key;
    button.parentElement.setAttribute("aria-sort", on ? (state.down ? "descending" : "ascending") : "none");
    button.textContent = button.dataset.name + (on ? (state.down ? " ↓" : " ↑") : "");
  }
}
function refresh() { state.page = 0; select(); list(); }
function show(index) {
  state.table = index;
  const flags = byId("flag");
  flags.replaceChildren(new Option("all rows", ""));
  for (const [name, rows] of Object.entries(tables[index].flags))
    if (rows.length) flags.append(new Option(name + " (" + rows.length.toLocaleString() + ")", name));
  document.querySelectorAll("[data-table]").forEach((part) => { part.hidden = Number(part.dataset.table) !== index; });
  draw(); refresh();
}
tables.forEach(prepare);
byId("search").addEventListener("input", refresh);
byId("flag").addEventListener("change", refresh);
byId("which").addEventListener("change", (event) => show(Number(event.target.value)));
byId("previous").addEventListener("click", () => { state.page -= 1; list(); });
byId("next").addEventListener("click", () => { state.page += 1; list(); });
for (const button of document.querySelectorAll("th button"))
  button.addEventListener("click", () => {
    state.down = state.key === button.dataset.key ? !state.down : false;
    state.key = button.dataset.key;
    refresh();
  });
window.addEventListener("resize", draw);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
if (tables.length) show(0);
