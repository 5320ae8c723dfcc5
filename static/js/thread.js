/* Applies events to the thread. Each is applied by the id of what it names, so that one that
   comes twice changes nothing, and a reader's open rows, selection and place stay as they are. */

const byId = (id) => document.getElementById(id);

function parsed(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return template.content;
}

/** Make *old* equal to *fresh*, touching only what differs. Rows keep being open or shut. */
function settle(old, fresh) {
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== "open") old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && name !== "open") old.setAttribute(name, value);
  }
  settleChildren(old, fresh);
}

function settleChildren(old, fresh) {
  let here = old.firstChild;
  for (const next of [...fresh.childNodes]) {
    if (!here) {
      old.append(next);
      continue;
    }
    const after = here.nextSibling;
    if (!here.isEqualNode(next)) {
      const alike = here.nodeType === Node.ELEMENT_NODE && here.nodeName === next.nodeName && here.id === next.id;
      if (alike) settle(here, next);
      else here.replaceWith(next);
    }
    here = after;
  }
  while (here) {
    const after = here.nextSibling;
    here.remove();
    here = after;
  }
}

function awaken(node) {
  if (node) window.htmx?.process(node);
}

const thread = () => byId("thread");
const number = (id) => Number(id.slice(1));
/** Whether an item belongs above the window that is shown; it comes with the older ones. */
const isEarlier = (id) => Boolean(byId("older")) && number(id) < number(thread().querySelector(".item:not(.pending)")?.id ?? id);
/** What an item stands before: the order is that of the store, whichever event came first. */
const successor = (id) => {
  let next = thread().querySelector(".pending");
  for (let item = thread().lastElementChild; item; item = item.previousElementSibling) {
    if (item.matches(".pending")) continue;
    if (!item.matches(".item") || number(item.id) < number(id)) break;
    next = item;
  }
  return next;
};
const text = (id) => {
  const block = byId(id);
  return block?.matches(".prose") ? block : block?.querySelector(".prose");
};
const stale = () => document.dispatchEvent(new CustomEvent("jenny:stale"));

/** The text block of an event, or null when the event is not the next one for it. */
function expected(event) {
  const block = text(event.block);
  const done = Number(block?.dataset.done);
  if (!block || event.at > done) {
    stale();
    return null;
  }
  return event.at < done ? null : block;
}

function openPart(block) {
  let part = block.querySelector(":scope > .open");
  if (!part) {
    part = document.createElement("div");
    part.className = "open";
    block.append(part);
  }
  return part;
}

/* --- The page's name, with a sign that an answer came while nobody looked --------------- */

let name = document.title;
let unread = false;

function showName() {
  document.title = unread ? `(1) ${name}` : name;
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) return;
  unread = false;
  showName();
});

const apply = {
  item({ id, html }) {
    const fresh = parsed(html).firstElementChild;
    if (!fresh) return;
    const key = fresh.dataset.key;
    if (key) document.querySelector(`.pending[data-key="${CSS.escape(key)}"]`)?.remove();
    const old = byId(id);
    // Only a page knows where its days begin.
    const day = old?.querySelector(":scope > .day");
    if (day && !fresh.querySelector(":scope > .day")) fresh.prepend("\n", day.cloneNode(true));
    if (old) settle(old, fresh);
    else if (isEarlier(id)) return;
    else thread().insertBefore(fresh, successor(id));
    awaken(byId(id));
    document.dispatchEvent(new CustomEvent("jenny:item", { detail: { id, key } }));
  },
  block({ message, id, html }) {
    const blocks = byId(message)?.querySelector(".blocks");
    if (!blocks) return stale();
    const fresh = parsed(html).firstElementChild;
    const old = byId(id);
    if (old) settle(old, fresh);
    else blocks.append(fresh);
  },
  done(event) {
    const block = expected(event);
    if (!block) return;
    const part = openPart(block);
    part.before(parsed(event.html));
    part.replaceChildren();
    block.dataset.done = String(event.at + 1);
  },
  open(event) {
    const block = expected(event);
    if (block) openPart(block).replaceChildren(parsed(event.html));
  },
  items(event) {
    const block = expected(event);
    const part = block && openPart(block);
    part?.querySelector(":scope > .tail")?.remove();
    const last = part?.lastElementChild?.lastElementChild;
    if (last?.matches("li")) last.replaceWith(parsed(event.html));
    else if (block) stale();
  },
  tail(event) {
    const block = expected(event);
    const part = block && openPart(block);
    if (part) (part.querySelector(".tail") ?? part).append(event.text);
  },
  final({ block: id, html }) {
    const block = text(id);
    if (!block) return stale();
    const part = block.querySelector(":scope > .open");
    part?.replaceWith(...part.childNodes);
    const fresh = document.createElement("div");
    fresh.append(parsed(html));
    settleChildren(block, fresh);
  },
  drop({ id }) {
    byId(id)?.remove();
  },
  state(event) {
    if (event.state === "idle" && thread().dataset.state !== "idle" && document.hidden) {
      unread = true;
      showName();
    }
    thread().dataset.state = event.state;
  },
  title({ title }) {
    byId("title").textContent = title;
    name = `${title} · Jenny`;
    showName();
    const field = byId("rename");
    if (field && field !== document.activeElement) field.value = title;
  },
  meter({ text: sentence, percent, note }) {
    if (note !== undefined) {
      byId("overflow-note").textContent = note;
      byId("overflow-note").hidden = !note;
    }
    byId("meter-text").textContent = sentence;
    byId("meter-percent").textContent = String(percent ?? 0);
    byId("meter-fill").setAttribute("width", String(Math.min(100, percent ?? 0)));
    byId("meter").toggleAttribute("data-empty", !sentence);
  },
};

document.addEventListener("jenny:event", ({ detail }) => apply[detail.kind]?.(detail));

/** The newest window, rendered anew. Older messages that were fetched before stay above it. */
document.addEventListener("jenny:reset", ({ detail }) => {
  const old = thread();
  const fresh = parsed(detail).getElementById("thread");
  if (!fresh) return;
  const first = fresh.querySelector(".item");
  const known = first && byId(first.id);
  if (known) {
    const earlier = [];
    for (let node = known.previousElementSibling; node; node = node.previousElementSibling) earlier.unshift(node.cloneNode(true));
    fresh.querySelector("#older")?.remove();
    fresh.prepend(...earlier);
  }
  const pending = [...old.querySelectorAll(".pending")].filter((item) => !fresh.querySelector(`[data-key="${CSS.escape(item.dataset.key)}"]`));
  fresh.append(...pending.map((item) => item.cloneNode(true)));
  settle(old, fresh);
  awaken(old);
  for (const item of old.querySelectorAll("[data-key]:not(.pending)")) {
    document.dispatchEvent(new CustomEvent("jenny:item", { detail: { id: item.id, key: item.dataset.key } }));
  }
  document.dispatchEvent(new CustomEvent("jenny:event", { detail: { kind: "state", state: fresh.dataset.state } }));
});
