// Keeps the dashboard fresh: asks what changed, fetches only then, and puts in only what differs.
"use strict";

const EVERY = 700;
const light = document.getElementById("live");
const parts = new Map([...document.querySelectorAll(".fresh")].map((part) => [part.id, part.innerHTML]));
let shown = light.dataset.version;

// Whether everything could be put in: a button that is in use is not pulled away.
async function refresh() {
  const page = new DOMParser().parseFromString(await (await fetch("/")).text(), "text/html");
  let all = true;
  for (const next of page.querySelectorAll(".fresh")) {
    const part = document.getElementById(next.id);
    if (parts.get(next.id) === next.innerHTML) continue;
    if (part.contains(document.activeElement)) {
      all = false;
      continue;
    }
    parts.set(next.id, next.innerHTML);
    part.replaceWith(next);
  }
  await fill();
  return all;
}

async function look() {
  try {
    const now = await json("/live");
    light.className = `kind live ${now.trouble ? "off" : "on"}`;
    light.textContent = now.running ? `${now.running} in progress` : "live";
    const trouble = document.getElementById("trouble");
    trouble.hidden = !now.trouble;
    trouble.textContent = now.trouble ? `${now.trouble} Shown is the state of ${now.seen}.` : "";
    if (String(now.version) !== shown && await refresh()) shown = String(now.version);
  } catch {
    light.className = "kind live off";
    light.textContent = "the dashboard was stopped";
  }
  setTimeout(look, EVERY);
}
look();
