/* The plots of the page. Data: the JSON in #data (src/app/report_data.c writes it). Text from
 * traces goes in through textContent alone, never as markup. A plot is a function of its
 * element and the element's width; all are drawn again when the width changes. */
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");
  const SIDES = ["real", "synthetic"];
  const LABEL = { real: "held-out real", synthetic: "synthetic", train: "training runs" };

  /* ---- elements ---- */
  const SVG = "http://www.w3.org/2000/svg";
  const node = (parent, tag, attributes = {}, text) => {
    const made = document.createElementNS(SVG, tag);
    for (const key in attributes) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    parent.appendChild(made);
    return made;
  };
  const html = (parent, tag, name, text) => {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    parent.appendChild(made);
    return made;
  };
  const canvas = (parent, width, height, label) =>
    node(parent, "svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": label });
  const color = (side) => `var(--${side})`;
  const legend = (parent, entries) => {
    const box = html(parent, "div", "legend");
    for (const [label, fill] of entries) {
      const item = html(box, "span");
      if (fill) html(item, "i").style.background = fill;
      item.appendChild(document.createTextNode(label));
    }
  };
  const sidesLegend = (parent, sides = SIDES) => legend(parent, sides.map((s) => [LABEL[s], color(s)]));
  const choice = (parent, labels, current, pick) => {
    const box = html(parent, "div", "choice");
    labels.forEach((label, i) => {
      const button = html(box, "button", "", label);
      button.type = "button";
      button.setAttribute("aria-pressed", String(i === current));
      button.addEventListener("click", () => pick(i));
    });
  };

  /* ---- tooltips ---- */
  const showTip = (event, text) => {
    tip.textContent = text;
    tip.style.display = "block";
    const box = tip.getBoundingClientRect();
    const x = event.clientX + 14 + box.width > innerWidth ? event.clientX - 14 - box.width : event.clientX + 14;
    const y = event.clientY + 14 + box.height > innerHeight ? event.clientY - 14 - box.height : event.clientY + 14;
    tip.style.left = Math.max(4, x) + "px";
    tip.style.top = Math.max(4, y) + "px";
  };
  const hideTip = () => { tip.style.display = "none"; };
  const hover = (element, text) => {
    element.addEventListener("pointermove", (event) => showTip(event, typeof text === "function" ? text(event) : text));
    element.addEventListener("pointerleave", hideTip);
    return element;
  };

  /* ---- numbers ---- */
  const digits = (value, n = 3) => String(Number(value.toPrecision(n)));
  const time = (ns) => {
    if (ns < 1e3) return digits(ns) + " ns";
    if (ns < 1e6) return digits(ns / 1e3) + " µs";
    return ns < 1e9 ? digits(ns / 1e6) + " ms" : digits(ns / 1e9) + " s";
  };
  const percent = (share) => (share === 0 ? "0 %" : digits(100 * share) + " %");
  const count = (value) => value.toLocaleString("en");
  const short = (text, size) => (text.length > size ? text.slice(0, size - 1) + "…" : text);
  const figure = (value) => (value === null ? "n/a" : digits(value));
  const linear = (from, to, a, b) => (value) => a + ((value - from) / (to - from)) * (b - a);
  const niceTicks = (low, high, want) => {
    const raw = (high - low) / want;
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((m) => m * power >= raw);
    const ticks = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high * (1 + 1e-9); k++) ticks.push(k * step);
    return ticks;
  };
  /* Whole decades between two logarithms, every second or third where they are many. */
  const decades = (low, high, room) => {
    const first = Math.ceil(low - 1e-9), last = Math.floor(high + 1e-9);
    const step = Math.max(1, Math.ceil((last - first + 1) / Math.max(2, room)));
    const ticks = [];
    for (let d = first; d <= last; d += step) ticks.push(d);
    return ticks;
  };

  /* Ticks of a log axis: 1, 2, 5 of each decade where there are few of them. */
  const logTicks = (low, high, room) => {
    if (high - low >= 2.2) return decades(low, high, room);
    const ticks = [];
    for (let d = Math.floor(low); d <= high; d++) for (const m of [1, 2, 5]) ticks.push(d + Math.log10(m));
    return ticks.filter((t) => t >= low - 1e-9 && t <= high + 1e-9);
  };

  /* ---- axes: box = {left, right, top, bottom} ---- */
  const xAxis = (svg, box, ticks, at, format, label) => {
    for (const tick of ticks) {
      node(svg, "line", { class: "grid-line", x1: at(tick), x2: at(tick), y1: box.top, y2: box.bottom });
      node(svg, "text", { x: at(tick), y: box.bottom + 16, "text-anchor": "middle" }, format(tick));
    }
    node(svg, "line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom });
    node(svg, "text", { x: (box.left + box.right) / 2, y: box.bottom + 34, "text-anchor": "middle" }, label);
  };
  const yAxis = (svg, box, ticks, at, format, label) => {
    for (const tick of ticks) {
      node(svg, "line", { class: "grid-line", x1: box.left, x2: box.right, y1: at(tick), y2: at(tick) });
      node(svg, "text", { x: box.left - 6, y: at(tick) + 4, "text-anchor": "end" }, format(tick));
    }
    node(svg, "line", { class: "axis", x1: box.left, x2: box.left, y1: box.top, y2: box.bottom });
    if (label) node(svg, "text", { x: 4, y: box.top - 8 }, label);
  };
  const nothing = (parent, width, text) => {
    const svg = canvas(parent, width, 60, text);
    node(svg, "text", { x: width / 2, y: 34, "text-anchor": "middle" }, text);
  };

  /* ---- timeline ---- */
  let stretch = 1;
  const PALETTE = ["c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"];
  const isIdle = (name) => name === "<idle>" || name === "idle" || name.startsWith("swapper");
  /* One colour for a name on both sides: by how long it runs in all that is shown. */
  const nameColors = (line, shown) => {
    const ran = new Map();
    for (const side of SIDES) for (const cpu of shown[side].cpus)
      for (let i = 0; i < cpu.runs.length; i += 3)
        ran.set(cpu.runs[i + 2], (ran.get(cpu.runs[i + 2]) || 0) + cpu.runs[i + 1]);
    const busy = [...ran.keys()].filter((n) => !isIdle(line.names[n])).sort((a, b) => ran.get(b) - ran.get(a));
    const colors = new Map();
    busy.forEach((n, i) => colors.set(n, color(i < PALETTE.length ? PALETTE[i] : "other")));
    for (const n of ran.keys()) if (isIdle(line.names[n])) colors.set(n, color("idle"));
    const entries = busy.slice(0, PALETTE.length).map((n) => [line.names[n], colors.get(n)]);
    if (busy.length > PALETTE.length) entries.push([`${busy.length - PALETTE.length} others`, color("other")]);
    entries.push(["idle", color("idle")]);
    return { colors, entries };
  };
  const nearestTriple = (flat, at) => {
    let low = 0, high = flat.length / 3;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (flat[3 * middle] < at) low = middle + 1; else high = middle;
    }
    const after = Math.min(low, flat.length / 3 - 1), before = Math.max(0, low - 1);
    return at - flat[3 * before] < flat[3 * after] - at ? before : after;
  };
  const drawLane = (svg, line, cpu, y, at, width, colors) => {
    for (let i = 0; i < cpu.runs.length; i += 3) {
      const x = at(cpu.runs[i]);
      const bar = node(svg, "rect", { x, y, height: 20, fill: colors.get(cpu.runs[i + 2]) || color("other"),
        width: Math.max(0.6, at(cpu.runs[i] + cpu.runs[i + 1]) - x) });
      hover(bar, `${line.names[cpu.runs[i + 2]]}\nruns ${time(cpu.runs[i + 1])} on CPU ${cpu.cpu}\nfrom +${time(cpu.runs[i])}`);
    }
    let path = "";
    for (let i = 0; i < cpu.events.length; i += 3) path += `M${at(cpu.events[i]).toFixed(1)} ${y + 23}v7`;
    node(svg, "path", { d: path, stroke: "var(--soft)", "stroke-width": 0.7, opacity: 0.55, fill: "none" });
    const zone = node(svg, "rect", { x: at(0), y: y + 21, width: at(width) - at(0), height: 11, fill: "transparent" });
    hover(zone, (event) => {
      const box = zone.getBoundingClientRect();
      const k = nearestTriple(cpu.events, ((event.clientX - box.left) / box.width) * width);
      return `${line.types[cpu.events[3 * k + 1]]}\nof ${line.names[cpu.events[3 * k + 2]]} on CPU ${cpu.cpu}\nat +${time(cpu.events[3 * k])}`;
    });
  };
  const timeline = (element, width, redraw) => {
    const line = data.timeline;
    const shown = line.stretches[stretch];
    choice(element, line.stretches.map((s) => s.label + " in the run"), stretch, (i) => { stretch = i; redraw(); });
    const { colors, entries } = nameColors(line, shown);
    legend(element, entries.map(([name, fill]) => [short(name, 28), fill]));
    const lanes = shown.real.cpus.length + shown.synthetic.cpus.length;
    const left = 54, height = 2 * 26 + lanes * 40 + 44;
    const svg = canvas(element, width, height, "timeline of real and synthetic run");
    const at = linear(0, shown.width_ns, left, width - 12);
    const box = { left, right: width - 12, top: 24, bottom: height - 42 };
    const ticks = niceTicks(0, shown.width_ns, width < 500 ? 3 : 8);
    xAxis(svg, box, ticks, at, (t) => (t ? "+" + time(t) : "0"), "time from the beginning of the stretch");
    let y = 0;
    for (const side of SIDES) {
      const events = shown[side].cpus.reduce((sum, cpu) => sum + cpu.events.length / 3, 0);
      node(svg, "text", { x: left, y: y + 16, class: "title", style: `fill:${color(side)}` },
        `${LABEL[side]}: ${count(events)} events${shown[side].cut ? " (cut)" : ""}`
          + (width < 500 ? "" : `, at ${time(shown[side].begin_ns)} of the run`));
      y += 26;
      for (const cpu of shown[side].cpus) {
        node(svg, "text", { x: left - 8, y: y + 15, "text-anchor": "end" }, "CPU " + cpu.cpu);
        drawLane(svg, line, cpu, y, at, shown.width_ns, colors);
        y += 40;
      }
    }
  };

  /* ---- inter-event times ---- */
  const stepPath = (shares, x, y) => {
    let path = `M${x(0)} ${y(0)}`;
    shares.forEach((share, i) => { path += `V${y(share).toFixed(1)}H${x(i + 1).toFixed(1)}`; });
    return path + `V${y(0)}`;
  };
  const dt = (element, width) => {
    const bins = data.dt.real.count.length;
    const shares = {};
    for (const side of SIDES) shares[side] = data.dt[side].count.map((c) => c / Math.max(1, data.dt[side].total));
    const used = [...Array(bins).keys()].filter((i) => shares.real[i] || shares.synthetic[i]);
    if (!used.length) return nothing(element, width, "no times between events");
    const first = Math.max(0, used[0] - 1), last = Math.min(bins, used[used.length - 1] + 2);
    const perBin = (data.dt.real.high - data.dt.real.low) / bins;
    const log = (i) => data.dt.real.low + i * perBin;
    sidesLegend(element);
    const height = width > 480 ? 430 : 320;
    const svg = canvas(element, width, height, "distribution of the times between events");
    const box = { left: 48, right: width - 10, top: 24, bottom: height - 42 };
    const x = linear(log(first), log(last), box.left, box.right);
    const top = Math.max(...shares.real, ...shares.synthetic) * 1.05;
    const y = linear(0, top, box.bottom, box.top);
    yAxis(svg, box, niceTicks(0, top, 5), y, percent, "share of events");
    xAxis(svg, box, decades(log(first), log(last), width / 70), x, (d) => time(10 ** d), "time since the event before (log scale)");
    for (const side of SIDES) {
      node(svg, "path", { d: stepPath(shares[side].slice(first, last), (i) => x(log(first + i)), y),
        fill: color(side), "fill-opacity": 0.13, stroke: color(side), "stroke-width": 1.6 });
    }
    const zone = node(svg, "rect", { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top, fill: "transparent" });
    hover(zone, (event) => {
      const area = zone.getBoundingClientRect();
      const part = Math.min(0.9999, Math.max(0, (event.clientX - area.left) / area.width));
      const i = first + Math.floor(part * (last - first));
      return `${time(10 ** log(i))} to ${time(10 ** log(i + 1))}\nreal ${percent(shares.real[i])}\nsynthetic ${percent(shares.synthetic[i])}`;
    });
  };

  /* ---- n-grams ---- */
  let gramSize = 2;
  const grams = (element, width, redraw) => {
    choice(element, ["single events", "pairs", "triples"], gramSize - 1, (i) => { gramSize = i + 1; redraw(); });
    const points = data.grams.filter((g) => g[0].length === gramSize);
    if (!points.length) return nothing(element, width, "no n-grams");
    const shares = points.flatMap((g) => [g[1], g[2]]).filter((s) => s > 0);
    const low = Math.floor(Math.log10(Math.min(...shares))) - 0.45;
    const high = Math.max(low + 1, Math.log10(Math.max(...shares)) + 0.1);
    const size = Math.min(width, 460), height = size - 14;
    const svg = canvas(element, width, height, "share of n-grams, real against synthetic");
    const shift = (width - size) / 2;
    const box = { left: shift + 58, right: shift + size - 10, top: 24, bottom: height - 42 };
    const x = linear(low, high, box.left, box.right), y = linear(low, high, box.bottom, box.top);
    const ticks = decades(low + 0.45, high, 5);
    yAxis(svg, box, ticks, y, (d) => percent(10 ** d));
    node(svg, "text", { x: shift + 4, y: 14 }, "share in synthetic (log scale)");
    xAxis(svg, box, ticks, x, (d) => percent(10 ** d), "share in held-out real (log scale)");
    node(svg, "line", { class: "guide", x1: box.left, y1: box.bottom, x2: box.right, y2: box.top });
    const place = (share, scale) => scale(share > 0 ? Math.log10(share) : low + 0.12);
    for (const [names, real, synthetic] of points) {
      const side = real && synthetic ? null : real ? "real" : "synthetic";
      const dot = node(svg, "circle", { cx: place(real, x), cy: place(synthetic, y), r: 3.2,
        fill: side ? color(side) : "var(--c3)", "fill-opacity": side ? 0.85 : 0.5 });
      hover(dot, `${names.join(" → ")}\nreal ${percent(real)}\nsynthetic ${percent(synthetic)}`);
    }
    legend(element, [["both sides", "var(--c3)"], ["real only", color("real")], ["synthetic only", color("synthetic")]]);
  };

  /* ---- durations of system calls ---- */
  const syscalls = (element, width) => {
    const rows = data.syscalls;
    if (!rows.length) return nothing(element, width, "no system call begins and ends in these runs");
    const logs = rows.flatMap((r) => SIDES.flatMap((s) => (r[s][0] ? [r[s][1], r[s][2]] : []))).map((v) => Math.log10(Math.max(1, v)));
    const low = Math.floor(Math.min(...logs)), high = Math.max(low + 1, Math.max(...logs) + 0.1);
    const rowHeight = 24, left = Math.min(150, width * 0.3);
    const height = 14 + rows.length * rowHeight + 44;
    legend(element, [...SIDES.map((s) => [LABEL[s], color(s)]), ["● median", null], ["| 99th percentile", null]]);
    const svg = canvas(element, width, height, "durations of system calls");
    const box = { left, right: width - 14, top: 8, bottom: height - 42 };
    const x = linear(low, high, box.left, box.right);
    xAxis(svg, box, decades(low, high, width / 80), x, (d) => time(10 ** d), "duration (log scale)");
    rows.forEach((row, i) => {
      const y = box.top + 6 + i * rowHeight;
      node(svg, "text", { x: left - 8, y: y + 12, "text-anchor": "end", class: "ink" }, short(row.name, Math.floor(left / 8)));
      SIDES.forEach((side, k) => {
        const [n, p50, p99] = row[side];
        if (!n) return;
        const a = x(Math.log10(Math.max(1, p50))), b = x(Math.log10(Math.max(1, p99))), at = y + 4 + k * 9;
        const mark = node(svg, "g", { stroke: color(side), fill: color(side) });
        node(mark, "line", { x1: a, x2: b, y1: at, y2: at, "stroke-width": 3, "stroke-opacity": 0.55 });
        node(mark, "line", { x1: b, x2: b, y1: at - 4, y2: at + 4, "stroke-width": 2 });
        node(mark, "circle", { cx: a, cy: at, r: 3.6, stroke: "none" });
      });
      const zone = node(svg, "rect", { x: 0, y: y - 4, width, height: rowHeight, fill: "transparent" });
      hover(zone, `${row.name}\n` + SIDES.map((s) => row[s][0]
        ? `${s}: median ${time(row[s][1])}, p99 ${time(row[s][2])}, ${count(row[s][0])} calls` : `${s}: none`).join("\n")
        + `\nKolmogorov-Smirnov ${figure(row.ks)}`);
    });
  };

  /* ---- cumulative waits ---- */
  const cumulative = (hist) => {
    let sum = 0;
    return hist.count.map((c) => (sum += c) / Math.max(1, hist.total));
  };
  const drawWait = (svg, wait, box) => {
    const { low, high } = wait.hist.real;
    const x = linear(low, high, box.left, box.right), y = linear(0, 1, box.bottom, box.top);
    yAxis(svg, box, [0, 0.25, 0.5, 0.75, 1], y, percent);
    xAxis(svg, box, decades(low, high, (box.right - box.left) / 62), x, (d) => time(10 ** d), "duration (log scale)");
    node(svg, "text", { x: box.left, y: box.top - 10, class: "title" }, `${wait.title}: distance ${figure(wait.ks)}`);
    const curves = {};
    for (const side of SIDES) {
      const hist = wait.hist[side];
      if (!hist.total) continue;
      curves[side] = cumulative(hist);
      const step = (high - low) / hist.count.length;
      const path = curves[side].map((c, i) => `L${x(low + (i + 1) * step).toFixed(1)} ${y(c).toFixed(1)}`).join("");
      node(svg, "path", { d: `M${x(low)} ${y(0)}` + path, fill: "none", stroke: color(side), "stroke-width": 2 });
    }
    if (!curves.real && !curves.synthetic) {
      node(svg, "text", { x: (box.left + box.right) / 2, y: (box.top + box.bottom) / 2, "text-anchor": "middle" }, "none in these runs");
    }
    const zone = node(svg, "rect", { x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top, fill: "transparent" });
    hover(zone, (event) => {
      const area = zone.getBoundingClientRect();
      const n = wait.hist.real.count.length;
      const i = Math.min(n - 1, Math.max(0, Math.floor(((event.clientX - area.left) / area.width) * n)));
      return `at most ${time(10 ** (low + ((i + 1) * (high - low)) / n))}\n` +
        SIDES.map((s) => `${s}: ${curves[s] ? percent(curves[s][i]) + ` of ${count(wait.hist[s].total)}` : "none"}`).join("\n");
    });
  };
  const waits = (element, width) => {
    const across = width > 760 ? 3 : 1, each = width / across, high = 250;
    const rows = Math.ceil(data.waits.length / across);
    sidesLegend(element);
    const svg = canvas(element, width, rows * high, "cumulative distributions of waits");
    data.waits.forEach((wait, i) => {
      const left = (i % across) * each, top = Math.floor(i / across) * high;
      drawWait(svg, wait, { left: left + 48, right: left + each - 14, top: top + 30, bottom: top + high - 44 });
    });
  };

  /* ---- types: two dots a row ---- */
  const types = (element, width) => {
    const rows = data.types;
    const shares = rows.flatMap((r) => SIDES.map((s) => r[s])).filter((s) => s > 0).map(Math.log10);
    if (!shares.length) return nothing(element, width, "no events");
    const low = Math.floor(Math.min(...shares)), high = Math.max(low + 1, Math.max(...shares) + 0.1);
    const rowHeight = 18, left = Math.min(178, width * 0.42), height = 10 + rows.length * rowHeight + 44;
    sidesLegend(element);
    const svg = canvas(element, width, height, "shares of event types");
    const box = { left, right: width - 14, top: 6, bottom: height - 42 };
    const x = linear(low, high, box.left, box.right);
    xAxis(svg, box, logTicks(low, high, (box.right - left) / 56), x, (d) => percent(10 ** d), "share of events (log scale)");
    rows.forEach((row, i) => {
      const y = box.top + 10 + i * rowHeight;
      const at = SIDES.map((s) => x(row[s] > 0 ? Math.log10(row[s]) : low));
      node(svg, "text", { x: left - 8, y: y + 4, "text-anchor": "end", class: "ink" }, short(row.name, Math.floor(left / 7)));
      node(svg, "line", { x1: at[0], x2: at[1], y1: y, y2: y, stroke: "var(--line)", "stroke-width": 3 });
      SIDES.forEach((side, k) => node(svg, "circle", { cx: at[k], cy: y, r: 4.2, fill: color(side), "fill-opacity": 0.85 }));
      hover(node(svg, "rect", { x: 0, y: y - 9, width, height: rowHeight, fill: "transparent" }),
        `${row.name}\nreal ${percent(row.real)}\nsynthetic ${percent(row.synthetic)}\ntime before it: ${row.dt === null ? "n/a" : digits(row.dt) + " decades apart"}`);
    });
  };

  /* ---- horizontal bars, one or more a row ---- */
  const bars = (element, width, rows, options) => {
    const thick = options.thick || 8, rowHeight = options.sides.length * thick + 10;
    const left = Math.min(options.left || 178, width * 0.42), height = 8 + rows.length * rowHeight + 44;
    sidesLegend(element, options.sides);
    const svg = canvas(element, width, height, options.axis);
    const box = { left, right: width - (options.margin || 16), top: 4, bottom: height - 42 };
    const x = options.scale(box);
    xAxis(svg, box, options.ticks, x, options.format, options.axis);
    rows.forEach((row, i) => {
      const y = box.top + 6 + i * rowHeight;
      node(svg, "text", { x: left - 8, y: y + rowHeight / 2 - 1, "text-anchor": "end", class: "ink" }, short(row.name, Math.floor(left / 7)));
      options.sides.forEach((side, k) => {
        if (row[side] !== null && row[side] > options.zero) {
          const from = x(options.zero);
          node(svg, "rect", { x: from, y: y + k * thick, height: thick - 1.5, width: Math.max(1, x(row[side]) - from), fill: color(side) });
        }
      });
      if (row.note) node(svg, "text", { x: box.right + 6, y: y + rowHeight / 2 - 1 }, row.note);
      hover(node(svg, "rect", { x: 0, y: y - 4, width, height: rowHeight, fill: "transparent" }), row.tip);
    });
  };

  /* Where something is broken: those rules alone. Where nothing is: how much was judged. */
  const RULES_SHOWN = 26;
  const rules = (element, width) => {
    const per1000 = ([checked, violations]) => (checked ? (1000 * violations) / checked : 0);
    const all = data.rules.map((r) => ({
      name: r.name, real: per1000(r.real), synthetic: per1000(r.synthetic), cases: r.synthetic[0], broken: r.synthetic[1],
      any: r.real[1] + r.synthetic[1], judged: { real: r.real[0], synthetic: r.synthetic[0] },
      tip: `${r.name}\n${r.doc}\n` + SIDES.map((s) => `${s}: ${count(r[s][1])} broken of ${count(r[s][0])}`).join("\n"),
    }));
    if (!all.length) return nothing(element, width, "no rules were checked");
    const broken = all.filter((r) => r.any).sort((a, b) => b.synthetic - a.synthetic || b.real - a.real);
    if (broken.length) {
      const rows = broken.slice(0, RULES_SHOWN);
      rows.forEach((row) => { row.note = count(row.broken); });
      const top = Math.max(...rows.map((r) => Math.max(r.real, r.synthetic)));
      bars(element, width, rows, { sides: SIDES, zero: 0, margin: 64, axis: "broken cases in 1,000 judged (right: how many)",
        scale: (box) => linear(0, top * 1.02, box.left, box.right), ticks: niceTicks(0, top, 4), format: (v) => digits(v) });
    } else {
      const log = (v) => Math.log10(Math.max(v, 1));
      const rows = all.filter((r) => r.judged.real || r.judged.synthetic).sort((a, b) => b.cases - a.cases).slice(0, RULES_SHOWN)
        .map((r) => ({ name: r.name, tip: r.tip, note: "✓", real: log(r.judged.real), synthetic: log(r.judged.synthetic) }));
      if (!rows.length) return nothing(element, width, "no rule had a case to judge");
      const top = Math.max(1, ...rows.map((r) => Math.max(r.real, r.synthetic)));
      bars(element, width, rows, { sides: SIDES, zero: 0, margin: 34, axis: "cases judged, none broken (log scale)",
        scale: (box) => linear(0, top * 1.02, box.left, box.right), ticks: decades(0, top, 6), format: (d) => count(10 ** d) });
    }
    const bad = all.filter((r) => r.broken).length, idle = all.filter((r) => !r.cases).length;
    html(element, "p", "caption", `The synthetic runs break ${bad} of ${all.length} rules; ${idle} had no case in them.`);
  };

  const shares = (element, width) => {
    const all = data.shares.map(([name, real, synthetic]) => ({ name, real, synthetic,
      tip: `${name}\nreal ${percent(real)}\nsynthetic ${percent(synthetic)}` }));
    const rows = all.filter((r) => r.real >= 0.001 || r.synthetic >= 0.001);
    if (!rows.length) return nothing(element, width, "no events");
    const top = Math.max(...rows.map((r) => Math.max(r.real, r.synthetic)));
    bars(element, width, rows, { sides: SIDES, zero: 0, left: 140, axis: "share of events", format: percent,
      scale: (box) => linear(0, top * 1.02, box.left, box.right), ticks: niceTicks(0, top, 5) });
    if (rows.length < all.length) html(element, "p", "caption", `${all.length - rows.length} more have less than 0.1 % on both sides.`);
  };

  const burst = (element, width) => {
    const log = (v) => (v === null ? null : Math.log10(Math.max(v, 0.01)));
    const rows = data.fano.map(([name, real, synthetic, train]) => ({ name, real: log(real), synthetic: log(synthetic), train: log(train),
      tip: `counts in bins of ${name}\nreal ${figure(real)}\nsynthetic ${figure(synthetic)}\ntraining runs ${figure(train)}` }));
    const values = rows.flatMap((r) => [r.real, r.synthetic, r.train]).filter((v) => v !== null);
    if (!values.length) return nothing(element, width, "the runs are too short");
    const low = Math.min(0, Math.floor(Math.min(...values))), high = Math.max(low + 1, Math.max(...values) + 0.1);
    bars(element, width, rows, { sides: ["real", "synthetic", "train"], zero: low, left: 70, thick: 14, axis: "Fano factor (log scale)",
      format: (d) => count(10 ** d), scale: (box) => linear(low, high, box.left, box.right), ticks: decades(low, high, width / 70) });
  };

  /* ---- drawing ---- */
  const plots = { timeline, dt, grams, syscalls, waits, types, rules, shares, burst };
  const draw = (element) => {
    const width = Math.floor(element.clientWidth);
    if (width < 40) return;
    element.textContent = "";
    hideTip();
    plots[element.dataset.plot](element, width, () => draw(element));
    element.dataset.drawn = "true";
    element.drawnWidth = width;
  };
  const observer = new ResizeObserver((entries) => {
    for (const { target } of entries) if (Math.abs(target.clientWidth - (target.drawnWidth || 0)) > 1) draw(target);
  });
  for (const element of document.querySelectorAll("[data-plot]")) {
    draw(element);
    observer.observe(element);
  }
})();
