// The table of tasks: sorts, filters and pages.
"use strict";

const PAGE = 25;
const format = new Intl.NumberFormat("en", { maximumFractionDigits: 4 });
const cents = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 4 });
// In one column every sum has cents or none has.
const money = (sum, withCents) => (withCents ? cents : format).format(sum);
const percent = (share) => `${share >= 1 || !share ? format.format(Math.round(share * 10) / 10) : share.toPrecision(2)} %`;

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

// "0.62 (0.55 to 0.70)": the interval goes on a line of its own where there is little room.
function figure(text) {
  const at = text.indexOf(" (");
  if (at < 0) return [element("span", { class: "quiet" }, text)];
  return [text.slice(0, at), " ", element("span", { class: "interval" }, text.slice(at + 1))];
}

// Fills the table inside `box` (see the template). rows() gives all of them (see task_row in
// pages.py), linkTo(row) the address of a task; query: {sort, down, text, page} to begin with.
class TaskTable {
  constructor(box, rows, linkTo, query) {
    this.box = box;
    this.rows = rows;
    this.linkTo = linkTo;
    this.query = { sort: 0, down: false, text: "", page: 0, ...query };
    box.querySelectorAll("th button").forEach((button) => {
      button.addEventListener("click", () => this.sortBy(Number(button.dataset.column)));
    });
    const text = box.querySelector("[name=text]");
    text.value = this.query.text;
    text.addEventListener("input", () => this.ask({ text: text.value, page: 0 }));
    box.querySelector(".before").addEventListener("click", () => this.ask({ page: this.query.page - 1 }));
    box.querySelector(".after").addEventListener("click", () => this.ask({ page: this.query.page + 1 }));
    this.ask({});
  }

  sortBy(column) {
    const down = this.query.sort === column ? !this.query.down : column > 1;
    this.ask({ sort: column, down, page: 0 });
  }

  ask(change) {
    this.query = { ...this.query, ...change };
    const { sort, down, text, page } = this.query;
    const wanted = text.toLowerCase();
    const kept = this.rows().filter((row) => row[1].toLowerCase().includes(wanted));
    kept.sort((a, b) => {
      const x = a[sort], y = b[sort];
      const order = typeof x === "string" ? x.localeCompare(y) : x - y;
      return (down ? -order : order) || a[0] - b[0];
    });
    this.show(kept.length, kept.slice(page * PAGE, (page + 1) * PAGE));
  }

  show(total, rows) {
    const { sort, down, page } = this.query;
    this.box.querySelectorAll("th[data-sorts]").forEach((head) => {
      const mine = Number(head.dataset.sorts) === sort;
      if (mine) head.setAttribute("aria-sort", down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    this.withCents = rows.some((row) => !Number.isInteger(row[4]));
    this.box.querySelector("tbody").replaceChildren(...rows.map((row) => this.line(row)));
    const last = Math.max(0, Math.ceil(total / PAGE) - 1);
    const first = total ? page * PAGE + 1 : 0;
    this.box.querySelector(".count").textContent =
      `${format.format(first)} to ${format.format(Math.min(total, (page + 1) * PAGE))} of ${format.format(total)}`;
    this.box.querySelector(".before").disabled = page <= 0;
    this.box.querySelector(".after").disabled = page >= last;
  }

  line(row) {
    const [number, name, cells, share, cost, , quality, ...further] = row;
    const line = element("tr", {},
      element("td", { class: "n wide" }, format.format(number + 1)),
      element("td", { class: "name" }, element("a", { href: this.linkTo(row) }, name)),
      element("td", { class: "n" }, money(cost, this.withCents)));
    if (this.box.dataset.measured === "yes") line.append(element("td", { class: "n" }, ...figure(quality)));
    if (this.box.dataset.unit !== "cells") line.append(element("td", { class: "n wide" }, format.format(cells)));
    line.append(
      element("td", { class: "n wide" }, percent(share)),
      ...further.map((value) => element("td", { class: "n wide" }, format.format(value))));
    return line;
  }
}
