// Keeps the dashboard's pages fresh: asks what changed, and fetches only then.
"use strict";

const EVERY = 700;
const seen = { version: document.body.dataset.version, drawn: document.body.dataset.drawn };
const light = document.getElementById("live");

async function json(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${answer.status}`);
  return answer.json();
}

// -- the pages that are filled here ----------------------------------------------------------
let table = null;

function fill() {
  const tasks = document.getElementById("tasks");
  if (tasks) {
    const ask = (query) => json(`/api/tasks?${new URLSearchParams(query)}`).catch(() => null);
    table = new TaskTable(tasks, ask, (row) => `/tasks/${row[0]}`);
  }
  const task = document.getElementById("task");
  if (task) json(`/api/tasks/${task.dataset.number}`).then(({ row, detail }) => showTask(task, row, detail));
}

// -- what changed -----------------------------------------------------------------------------
async function refresh() {
  const fresh = document.getElementById("fresh");
  if (table) table.ask({});
  if (!fresh || fresh.contains(document.activeElement)) return !fresh;   // do not pull a button away
  const page = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  const next = page.getElementById("fresh");
  if (next) fresh.replaceWith(next);
  return true;
}

async function look() {
  try {
    const now = await json("/api/live");
    light.className = `kind live ${now.trouble ? "off" : "on"}`;
    light.textContent = now.learning ? `${now.running} in progress` : "live";
    const trouble = document.getElementById("trouble");
    trouble.hidden = !now.trouble;
    trouble.textContent = now.trouble ? `${now.trouble} Shown is the state of ${now.seen}.` : "";
    if (String(now.version) !== seen.version || String(now.drawn) !== seen.drawn) {
      if (await refresh()) Object.assign(seen, { version: String(now.version), drawn: String(now.drawn) });
    }
  } catch {
    light.className = "kind live off";
    light.textContent = "the dashboard was stopped";
  }
  setTimeout(look, EVERY);
}

fill();
look();
