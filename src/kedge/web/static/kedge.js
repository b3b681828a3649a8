// Keeps a page up to date: the server names what changed, the page is fetched again, and the parts
// that differ are replaced. What the reader opened, wrote or focused stays as it is.
"use strict";

const topics = new Set(document.body.dataset.topics.split(" ").filter(Boolean));
const parts = new Map();
const REST = 250; // milliseconds between two fetches
let busy = false;
let again = false;

function listParts(root) {
  return [...root.querySelectorAll("[data-part]")];
}

for (const part of listParts(document)) parts.set(part.id, part.innerHTML);

// True while somebody writes in the part, or has written something that was not sent.
function isInUse(part) {
  const fields = [...part.querySelectorAll("input:not([type=hidden]), textarea, select")];
  return fields.some((one) => one === document.activeElement || isWritten(one));
}

function isWritten(field) {
  return "defaultValue" in field && field.value !== field.defaultValue;
}

function replacePart(part, fresh) {
  const open = new Map([...part.querySelectorAll("details[id]")].map((one) => [one.id, one.open]));
  const known = new Set([...part.querySelectorAll("[data-key]")].map((one) => one.dataset.key));
  const focused = part.contains(document.activeElement) ? document.activeElement.id : "";
  part.replaceChildren(...document.adoptNode(fresh).childNodes);
  for (const one of part.querySelectorAll("details[id]")) {
    if (open.has(one.id)) one.open = open.get(one.id);
  }
  for (const one of part.querySelectorAll("[data-key]")) {
    if (known.size && !known.has(one.dataset.key)) one.classList.add("arrived");
  }
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}

async function refresh() {
  if (busy || document.hidden) {
    again = true;
    return;
  }
  busy = true;
  again = false;
  try {
    const answer = await fetch(location.href, { headers: { "X-Kedge-Live": "1" } });
    if (answer.ok) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const fresh of listParts(page)) {
        const part = document.getElementById(fresh.id);
        const html = fresh.innerHTML;
        if (!part || parts.get(fresh.id) === html || isInUse(part)) continue;
        parts.set(fresh.id, html);
        replacePart(part, fresh);
      }
      tellAges();
    }
  } catch {
    again = true; // the server is gone for a moment; the stream says when it is back
  }
  setTimeout(() => {
    busy = false;
    if (again && !document.hidden) refresh();
  }, REST);
}

function showState(state, text) {
  const place = document.getElementById("state");
  place.dataset.state = state;
  place.lastElementChild.textContent = text;
}

function follow() {
  const stream = new EventSource(`/kedge/live?seen=${encodeURIComponent(document.body.dataset.seen)}`);
  let lost = false;
  stream.addEventListener("open", () => {
    showState("live", "live");
    if (lost) refresh();
    lost = false;
  });
  stream.addEventListener("error", () => {
    lost = true;
    showState("lost", stream.readyState === EventSource.CLOSED ? "open the link again" : "reconnecting");
  });
  stream.addEventListener("change", (event) => {
    if (event.data.split(" ").some((name) => topics.has(name))) refresh();
  });
  addEventListener("pagehide", () => stream.close());
}

function tellAges() {
  for (const one of document.querySelectorAll("time[data-ago]")) {
    const seconds = Math.max(0, (Date.now() - Date.parse(one.dateTime)) / 1000);
    const [size, unit] = [[31536000, "y"], [86400, "d"], [3600, "h"], [60, "m"], [1, "s"]].find(
      ([size]) => seconds >= size || size === 1,
    );
    one.textContent = `${Math.floor(seconds / size)}${unit}`;
  }
}

async function loadTranscript(panel) {
  const place = panel.querySelector(".transcript");
  const answer = await fetch(panel.dataset.src);
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  place.replaceChildren(...document.adoptNode(page.querySelector("[data-fragment]")).childNodes);
  place.scrollTop = place.scrollHeight;
}

function move(by) {
  const items = [...document.querySelectorAll("[data-item]")];
  const at = items.indexOf(document.activeElement);
  items[Math.min(items.length - 1, Math.max(0, at + by))]?.focus();
}

addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, textarea, select")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  const link = document.querySelector(`nav a[data-key="${CSS.escape(event.key)}"]`);
  const search = document.querySelector("input[type=search]");
  if (event.key === "/" && search) search.focus();
  else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (link) link.click();
  else return;
  event.preventDefault();
});

function openTarget() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target) target.querySelector("details")?.setAttribute("open", "");
}

document.addEventListener("change", (event) => {
  if (event.target.matches(".filter select")) event.target.form.requestSubmit();
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && again) refresh();
});
for (const panel of document.querySelectorAll("details[data-src]")) {
  panel.addEventListener("toggle", () => panel.open && loadTranscript(panel));
}
addEventListener("hashchange", openTarget);
openTarget();
tellAges();
setInterval(tellAges, 5000);
if (topics.size) follow();
