// What opening a task or the representation shows; shared by the report and the dashboard.
"use strict";

const plural = (n, one) => `${format.format(n)} ${one}${n === 1 ? "" : "s"}`;

function asText(tree) {
  return element("details", {}, element("summary", {}, "The same as text"), element("pre", { tabindex: "0" }, treeText(tree)));
}

// row: a line of the table; detail: see task_detail in rows.py; links: {metafeature(i)}.
function showTask(box, row, detail, links) {
  const [, name, route, cells, share, cost, reused, most] = row;
  const parts = [
    element("h2", { tabindex: "-1" }, name),
    element("p", {}, element("span", { class: `route ${route}` }, route), " ",
      `${plural(cells, "cell")} bought on ${plural(detail.examples, "example")}, ${format.format(share)} % of its table` +
      `; at most ${format.format(most)} on one example; ${plural(reused, "cell")} were known before.` +
      (box.dataset.priced === "yes" ? ` It cost ${format.format(cost)} ${box.dataset.unit}.` : "")),
  ];
  if (detail.failure) parts.push(element("p", { class: "quiet" }, `Why what was known was not enough: ${detail.failure}`));
  if (detail.tree) {
    parts.push(element("p", { class: "quiet" },
      "Solid boxes come from a metafeature (follow the link), dashed ones are this task's own."));
    parts.push(drawTree(detail.tree, links.metafeature), asText(detail.tree));
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

const FEW = 12;

function taskLinks(numbers, links) {
  const items = numbers.slice(0, FEW).map((n) => element("li", {}, element("a", { href: links.task(n) }, links.name(n))));
  if (numbers.length > FEW) items.push(element("li", {}, `and ${format.format(numbers.length - FEW)} more`));
  return element("ul", { class: "tags" }, ...items);
}

function metafeatureCard(number, row, links) {
  const card = element("section", { class: "panel", id: `metafeature-${number}`, tabindex: "-1", "aria-label": `metafeature M${number}` });
  card.append(element("h3", {}, `M${number}`));
  card.append(row.tree ? drawTree(row.tree) : element("pre", { tabindex: "0" }, row.text));
  const taught = row.taught === null ? "" : element("a", { href: links.task(row.taught) }, links.name(row.taught));
  card.append(element("p", { class: "quiet" }, taught ? "Taught by " : "", taught, taught ? ". " : "",
    row.used.length ? `Reused by ${plural(row.used.length, "task")}:` : "Not reused by a later task yet."));
  if (row.used.length) card.append(taskLinks(row.used, links));
  return card;
}

const CARDS = 24;

// Cards in portions, so that a large representation opens as fast as a small one.
function showMetafeatures(box, rows, links) {
  const more = element("button", { type: "button" }, "Show more metafeatures");
  let shown = 0;
  const upTo = (count) => {
    for (; shown < Math.min(count, rows.length); shown++) box.append(metafeatureCard(shown, rows[shown], links));
    more.hidden = shown >= rows.length;
  };
  box.after(more);
  more.addEventListener("click", () => upTo(shown + CARDS));
  upTo(CARDS);
  return upTo;
}
