// Fills the page: an address after # opens a task. A report holds all of them; a dashboard asks.
"use strict";

async function json(address) {
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${answer.status}`);
  return answer.json();
}

const held = document.getElementById("data");
const data = held && JSON.parse(held.textContent);
let rows = [], table = null;

// Also after parts of the page were put in anew: the table stays sorted and filtered as it was.
async function fill() {
  const box = document.getElementById("tasks");
  if (!box) return;
  rows = data ? data.rows : await json("/tasks");
  if (table && table.box === box) {
    table.ask({});
    return;
  }
  const first = !table;
  table = new TaskTable(box, () => rows, (row) => `#task-${row[0]}`, table ? table.query : {});
  open(first);
}

async function open(goes) {
  const match = /^#task-(\d+)$/.exec(location.hash);
  const row = match && rows[Number(match[1])];
  if (!row) return;
  const detail = data ? data.details[row[0]] : await json(`/tasks/${row[0]}`);
  const box = document.getElementById("task");
  showTask(box, row, detail);
  if (!goes) return;
  box.scrollIntoView();
  box.querySelector("h2").focus({ preventScroll: true });
}
addEventListener("hashchange", () => open(true));
fill();
