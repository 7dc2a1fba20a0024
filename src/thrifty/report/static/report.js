// The report's own part: everything is in the page, an address after # opens a task.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const links = {
  task: (n) => `#task-${n}`,
  metafeature: (n) => `#metafeature-${n}`,
};

const tables = document.getElementById("tasks");
if (tables) new TaskTable(tables, localRows(data.rows), (row) => links.task(row[0]));
const cards = document.getElementById("metafeatures");
const showUpTo = cards ? showMetafeatures(cards, data.metafeatures, links) : () => {};

function open() {
  const match = /^#(task|metafeature)-(\d+)$/.exec(location.hash);
  if (!match) return;
  const number = Number(match[2]);
  if (match[1] === "task" && data.rows[number]) {
    const box = document.getElementById("task");
    showTask(box, data.rows[number], data.details[number], links);
    box.scrollIntoView();
    box.querySelector("h2").focus({ preventScroll: true });
  } else if (match[1] === "metafeature" && data.metafeatures[number]) {
    showUpTo(number + 1);
    const card = document.getElementById(`metafeature-${number}`);
    card.scrollIntoView();
    card.focus({ preventScroll: true });
  }
}
addEventListener("hashchange", open);
open();
