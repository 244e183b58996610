// Opens pages that `standin kernel evaluate --html` wrote in Debian's chromium and holds what a
// reader relies on: every plot drew, nothing was said on the console, nothing was fetched, no
// text of a trace became markup, the tooltips speak, and a phone shows it without scrolling
// sideways; all in light and in dark.
//   node report.mjs PAGE…   STN_NODE_PATH: node_modules with playwright-core
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

const modules = process.env.STN_NODE_PATH ?? "node_modules";
const { chromium } = createRequire(path.resolve(modules, "x.js"))("playwright-core");
const PLOTS = ["timeline", "dt", "grams", "syscalls", "waits", "types", "rules", "shares", "burst"];
const VIEWS = [
  { name: "light", width: 1280, colorScheme: "light" },
  { name: "dark", width: 1280, colorScheme: "dark" },
  { name: "phone", width: 360, colorScheme: "light" },
  { name: "dark phone", width: 360, colorScheme: "dark" },
];
let failures = 0;
const hold = (condition, what) => {
  if (!condition) {
    failures++;
    console.error(`report.mjs: ${what}`);
  }
};

// What a plot shows: marks that cover ground, text, and whether it lies inside its card.
const look = (element) => {
  const area = element.getBoundingClientRect();
  const marks = [...element.querySelectorAll("svg rect, svg path, svg circle, svg line")].filter((mark) => {
    const box = mark.getBoundingClientRect();
    return box.width + box.height > 0.5 && mark.getAttribute("fill") !== "transparent" &&
      !["grid-line", "axis", "guide"].includes(mark.getAttribute("class"));
  });
  const numbers = [...element.querySelectorAll("svg *")].flatMap((n) => [...n.attributes].map((a) => a.value));
  return {
    drawn: element.dataset.drawn,
    marks: marks.length,
    outside: marks.filter((m) => m.getBoundingClientRect().right > area.right + 1).length,
    labels: element.querySelectorAll("svg text").length,
    wrong: numbers.filter((value) => /NaN|Infinity|undefined/.test(value)).length,
    words: element.textContent.match(/NaN|Infinity|undefined|\[object/)?.[0] ?? null,
    title: element.closest("section").querySelector("h2")?.textContent ?? "",
    legend: element.querySelectorAll(".legend span").length,
  };
};

// Move over the plot until the tooltip speaks.
const tooltip = async (page, plot) => {
  await plot.scrollIntoViewIfNeeded();
  const svg = await plot.$("svg");
  const box = await svg.boundingBox();
  for (const part of [0.25, 0.5, 0.75]) {
    for (let y = 6; y < box.height; y += 7) {
      await page.mouse.move(box.x + box.width * part, box.y + y);
      const text = await page.evaluate(() => (document.getElementById("tip").style.display === "block" ? document.getElementById("tip").textContent : ""));
      if (text) return text;
    }
  }
  return "";
};

const check = async (browser, file, view) => {
  const where = `${path.basename(file)}, ${view.name}`;
  const page = await browser.newPage({ viewport: { width: view.width, height: 900 }, colorScheme: view.colorScheme });
  const asked = [];
  page.on("console", (message) => hold(false, `${where}: console: ${message.text()}`));
  page.on("pageerror", (error) => hold(false, `${where}: error: ${error.message}`));
  page.on("dialog", (dialog) => { hold(false, `${where}: dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => asked.push(request.url()));
  const url = pathToFileURL(path.resolve(file)).href;
  await page.goto(url);
  const plots = await page.$$("[data-plot]");
  const names = await Promise.all(plots.map((plot) => plot.getAttribute("data-plot")));
  hold(names.join() === PLOTS.join(), `${where}: plots are ${names}`);
  for (const [i, plot] of plots.entries()) {
    const seen = await plot.evaluate(look);
    const at = `${where}: ${names[i]}`;
    hold(seen.drawn === "true", `${at} did not draw`);
    hold(seen.marks > 0, `${at} is empty`);
    hold(seen.outside === 0, `${at}: ${seen.outside} marks beyond its edge`);
    hold(seen.labels > 2, `${at} has no labels`);
    hold(seen.legend > 1, `${at} has no legend`);
    hold(seen.wrong === 0 && !seen.words, `${at}: ${seen.wrong} attributes or text "${seen.words}" that are no figures`);
    hold(seen.title.length > 3, `${at} has no title`);
    if (view.width > 600) hold((await tooltip(page, plot)).length > 3, `${at} has no tooltip`);
  }
  const before = await page.$eval("[data-plot=grams] svg", (svg) => svg.outerHTML);
  await page.click("[data-plot=grams] button:nth-child(3)");
  const after = await page.$eval("[data-plot=grams] svg", (svg) => svg.outerHTML);
  hold(before !== after, `${where}: the choice of n-grams changes nothing`);
  const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  hold(overflow <= 0, `${where}: ${overflow} px wider than the window`);
  hold((await page.$$("img, iframe, object")).length === 0, `${where}: markup that nobody wrote`);
  hold((await page.$$(".verdict")).length === 4, `${where}: the verdict is not whole`);
  hold(asked.every((one) => one === url), `${where}: fetched ${asked.filter((one) => one !== url)}`);
  await page.close();
};

const browser = await chromium.launch({
  executablePath: process.env.STN_CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
const pages = process.argv.slice(2);
hold(pages.length > 0, "no page given");
for (const file of pages) for (const view of VIEWS) await check(browser, file, view);
await browser.close();
console.log(`${pages.length} pages, ${VIEWS.length} views each, ${failures} faults`);
process.exit(failures ? 1 : 0);
