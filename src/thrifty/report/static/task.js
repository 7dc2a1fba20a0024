// What opening a task shows; shared by the report and the dashboard.
"use strict";

const plural = (n, one) => `${format.format(n)} ${one}${n === 1 ? "" : "s"}`;

function asText(tree) {
  return element("details", {}, element("summary", {}, "The same as text"), element("pre", { tabindex: "0" }, treeText(tree)));
}

// row: a line of the table; detail: see task_detail in pages.py.
function showTask(box, row, detail) {
  const parts = [element("h2", { tabindex: "-1" }, row[1]), ...detail.said.map((text) => element("p", {}, text))];
  if (detail.failure) parts.push(element("p", { class: "quiet" }, `Why what was known was not enough: ${detail.failure}`));
  if (detail.tree) {
    parts.push(drawTree(detail.tree), asText(detail.tree));
  } else if (detail.card) {
    parts.push(cardTable(detail.card));
  } else if (detail.text) {
    parts.push(element("pre", { tabindex: "0" }, detail.text));
  }
  if (detail.features.length) {
    const items = detail.features.map(([feature, n]) => element("li", {}, `${feature}: ${plural(n, "cell")}`));
    if (detail.more) items.push(element("li", {}, `and ${plural(detail.more, "more feature")}`));
    parts.push(element("h3", {}, "Features it bought most of"), element("ul", { class: "tags" }, ...items));
  }
  box.replaceChildren(...parts);
  box.hidden = false;
}

// A scorecard: start at the base, add the points of each line that fits; see task_detail in pages.py.
function cardTable(card) {
  const head = ["Feature", "If it is", ...(card.classes ? ["Class"] : []), "Share of rows", "Points"];
  const table = element("table", { class: "card" },
    element("thead", {}, element("tr", {}, ...head.map((text, i) =>
      element("th", { scope: "col", class: i === head.length - 2 ? "n wide" : i === head.length - 1 ? "n" : "" }, text)))));
  const body = element("tbody");
  for (const [feature, bin, label, share, points] of card.lines) {
    const number = Number(points);
    body.append(element("tr", feature ? { class: "first" } : {},
      element("td", { class: "name" }, feature), element("td", { class: "name" }, bin),
      ...(card.classes ? [element("td", {}, label)] : []),
      element("td", { class: "n wide" }, share),
      element("td", { class: `n ${number > 0 ? "up" : "down"}` }, (number > 0 ? "+" : "") + points)));
  }
  table.append(body);
  const box = element("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "the scorecard" }, table);
  const more = card.more ? ` ${plural(card.more, "more line")} that move it less are not shown.` : "";
  return element("div", {}, box, element("p", { class: "quiet" },
    `Start at the base and add the points of every line that fits. ${card.legend}${more}`));
}
