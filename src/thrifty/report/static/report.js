// The report's own part: everything is in the page, an address after # opens a task.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);

const tables = document.getElementById("tasks");
if (tables) new TaskTable(tables, localRows(data.rows), (row) => `#task-${row[0]}`);

function open() {
  const match = /^#task-(\d+)$/.exec(location.hash);
  if (!match || !data.rows[Number(match[1])]) return;
  const number = Number(match[1]), box = document.getElementById("task");
  showTask(box, data.rows[number], data.details[number]);
  box.scrollIntoView();
  box.querySelector("h2").focus({ preventScroll: true });
}
addEventListener("hashchange", open);
open();
