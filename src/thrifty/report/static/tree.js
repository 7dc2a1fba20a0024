// Draws a small tree (nested lists, see pages.py) as SVG. Attributes only, no inline styles: it
// works under the dashboard's content policy.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const LEVEL = 74, SLOT = 112, BOX = 104;

function svgElement(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

const isLeaf = (tree) => tree.length === 2;
const shortened = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

function question(tree) {
  return tree[1] === null ? tree[0] : `${tree[0]} ≥ ${Number(tree[1].toPrecision(4))}`;
}

// Leaves take slots from left to right; a node stands over the middle of its children.
function place(tree, depth, slots) {
  if (isLeaf(tree)) return { tree, depth, x: (slots.next++ + 0.5) * SLOT, sides: [] };
  const sides = [place(tree[2], depth + 1, slots), place(tree[3], depth + 1, slots)];
  return { tree, depth, x: (sides[0].x + sides[1].x) / 2, sides };
}

const depthOf = (at) => Math.max(at.depth, ...at.sides.map(depthOf));
const splitsIn = (tree) => (isLeaf(tree) ? 0 : 1 + splitsIn(tree[2]) + splitsIn(tree[3]));

function drawNode(parent, at) {
  const y = at.depth * LEVEL + 20;
  at.sides.forEach((side, branch) => {
    const below = side.depth * LEVEL + 20;
    parent.append(svgElement("path", {
      class: "edge", d: `M${at.x} ${y + 17}L${side.x} ${below - 15}`,
    }));
    parent.append(svgElement("text", {
      class: "small", x: (at.x + side.x) / 2 + (branch ? 14 : -14), y: (y + below) / 2 + 2,
    }, branch ? "yes" : "no"));
  });
  const leaf = isLeaf(at.tree);
  const group = svgElement("g", { class: leaf ? "leaf" : "" });
  const full = leaf ? (at.tree[0] === null ? "·" : at.tree[0]) : question(at.tree);
  group.append(svgElement("title", {}, leaf && at.tree[1] !== null ? `${full}: ${at.tree[1]} training rows` : full));
  group.append(svgElement("rect", {
    class: "box", x: at.x - BOX / 2, y: y - 15, width: BOX, height: 32, rx: leaf ? 15 : 4,
  }));
  const under = leaf && at.tree[1] !== null ? `${at.tree[1]} rows` : "";
  group.append(svgElement("text", { x: at.x, y: under ? y : y + 5 }, shortened(full, 16)));
  if (under) group.append(svgElement("text", { class: "small", x: at.x, y: y + 12 }, under));
  parent.append(group);
  at.sides.forEach((side) => drawNode(parent, side));
}

function drawTree(tree) {
  const slots = { next: 0 }, root = place(tree, 0, slots);
  const width = slots.next * SLOT, height = depthOf(root) * LEVEL + 42;
  const splits = splitsIn(tree);
  const picture = svgElement("svg", {
    class: "tree", width, height, viewBox: `0 0 ${width} ${height}`, role: "group",
    "aria-label": `decision tree with ${splits} split${splits === 1 ? "" : "s"}`,
  });
  drawNode(picture, root);
  const box = document.createElement("div");
  box.className = "scroll";
  box.tabIndex = 0;
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", "the tree, drawn");
  box.append(picture);
  return box;
}

function treeText(tree, head = "", tail = "") {
  if (isLeaf(tree)) return head + (tree[0] === null ? "·" : tree[0]);
  return [
    `${head}${question(tree)}?`,
    treeText(tree[2], `${tail}├─ no: `, `${tail}│  `),
    treeText(tree[3], `${tail}└─ yes: `, `${tail}   `),
  ].join("\n");
}
