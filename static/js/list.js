/* The list of conversations follows what happens in other tabs, and what is answered unseen. On the
   page of all conversations, the acts on several come when some are ticked. */

const EVERY_MS = 4_000;
const list = document.getElementById("conversations");
const channel = new BroadcastChannel("jenny");
let asking = false;
let wanted = false;

async function refresh() {
  wanted = document.hidden || asking;
  if (wanted) return;
  asking = true;
  try {
    const address = new URL(list.dataset.list, location.href);
    // As much as is shown by now.
    address.searchParams.set("count", list.querySelectorAll("li").length);
    const answer = await fetch(address, { headers: { "HX-Request": "true", "HX-Current-URL": location.href } });
    if (answer.ok && !answer.headers.has("HX-Redirect")) show(await answer.text());
  } catch {
    // The next sign of a change asks again.
  } finally {
    asking = false;
  }
  if (wanted) refresh();
}

/** Put the fresh list in place; whoever is on one of its links stays there. */
function show(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute("href") : "";
  if (list.innerHTML.trim() === template.innerHTML.trim()) return;
  list.replaceChildren(template.content);
  window.htmx?.process(list);
  if (focused) list.querySelector(`[href="${CSS.escape(focused)}"]`)?.focus();
}

channel.addEventListener("message", refresh);
for (const kind of ["jenny:accepted", "jenny:event"]) {
  document.addEventListener(kind, ({ detail }) => {
    if (kind === "jenny:event" && !["state", "title"].includes(detail.kind)) return;
    channel.postMessage("changed");
    refresh();
  });
}
/* --- Unread answers -------------------------------------------------------------------- */

let unseen = false;

/** What ended before one's eyes is not unread; what ended in a hidden tab is, until it is shown. */
async function see() {
  unseen = document.hidden;
  const token = document.querySelector("[name=csrfmiddlewaretoken]")?.value;
  if (unseen || !list.dataset.seen || !token) return;
  const answer = await fetch(list.dataset.seen, { method: "POST", headers: { "HX-Request": "true", "X-CSRFToken": token } }).catch(() => null);
  if (answer?.ok) channel.postMessage("changed");
}

document.addEventListener("jenny:event", ({ detail }) => {
  if (detail.kind === "state" && detail.state === "idle") see();
});
document.addEventListener("visibilitychange", () => {
  if (unseen) see();
  if (wanted) refresh();
});
// What is answered elsewhere has no event here.
setInterval(() => {
  if (list.querySelector(".alive") && !document.hidden) refresh();
}, EVERY_MS);

// Who pressed "More" with the keyboard goes on at the first row that came.
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (!detail.target.matches?.(".next-page") || !detail.target.contains(document.activeElement)) return;
  const before = detail.target.previousElementSibling;
  document.addEventListener("htmx:afterSettle", () => {
    let fresh = before?.nextElementSibling;
    while (fresh && !fresh.querySelector("a")) fresh = fresh.nextElementSibling;
    fresh?.querySelector("a").focus();
  }, { once: true });
});

/* --- Choosing several ------------------------------------------------------------------ */

function count() {
  const acts = document.querySelector(".chosen-acts");
  if (!acts) return;
  const number = document.querySelectorAll("[name=chosen]:checked").length;
  acts.toggleAttribute("data-any", number > 0);
  acts.querySelector("[data-chosen]").textContent = number ? `${number} chosen` : "None chosen";
}

document.addEventListener("change", (event) => {
  if (event.target.matches("[name=chosen]")) count();
});
document.addEventListener("click", (event) => {
  if (!event.target.matches("[data-choose-all]")) return;
  for (const box of document.querySelectorAll("[name=chosen]")) box.checked = true;
  count();
});
document.addEventListener("htmx:afterSettle", count);
addEventListener("pageshow", count);
