/* The palette of every page (Ctrl K): a combobox over places to go to. The server knows them; an
   answer that comes late never takes the place of a newer one. */

const WAIT_MS = 120;
const finder = document.getElementById("finder");
const field = document.getElementById("finder-field");
const list = document.getElementById("finder-choices");
const said = document.getElementById("finder-said");

let options = [];
let chosen = -1;
// The newest question, and the text that the list answers; null: none yet.
let asking = null;
let answered = null;
let isGoing = false;
let timer = 0;

function choose(index) {
  chosen = options.length ? (index + options.length) % options.length : -1;
  options.forEach((option, at) => option.setAttribute("aria-selected", String(at === chosen)));
  if (chosen < 0) return field.removeAttribute("aria-activedescendant");
  field.setAttribute("aria-activedescendant", options[chosen].id);
  options[chosen].scrollIntoView({ block: "nearest" });
}

function show(text, html) {
  list.innerHTML = html;
  options = [...list.querySelectorAll("[role=option]")];
  answered = text;
  choose(0);
  said.textContent = text && options.length ? `${options.length} choice${options.length === 1 ? "" : "s"}` : "";
  if (isGoing) go();
}

async function ask() {
  const text = field.value;
  asking?.abort();
  const mine = (asking = new AbortController());
  try {
    const address = `${finder.dataset.choices}?q=${encodeURIComponent(text)}`;
    const answer = await fetch(address, { signal: mine.signal, headers: { "HX-Request": "true", "HX-Current-URL": location.href } });
    if (answer.headers.has("HX-Redirect")) return location.assign(answer.headers.get("HX-Redirect"));
    if (!answer.ok) throw new Error(answer.statusText);
    const html = await answer.text();
    if (mine === asking) show(text, html);
  } catch {
    if (mine !== asking) return;
    isGoing = false;
    answered = text;
    said.textContent = "Jenny could not be asked. Enter opens the search page.";
    options = [];
    list.replaceChildren();
  }
}

function open() {
  document.getElementById("shortcuts")?.hidePopover();
  if (!finder.open) finder.showModal();
  field.value = "";
  answered = null;
  isGoing = false;
  field.focus();
  ask();
}

/** Put a command into the message field; what stands there already is kept. */
function write(text) {
  const message = document.querySelector("textarea#text");
  if (message.value.trim()) {
    document.dispatchEvent(new CustomEvent("jenny:notice", { detail: "The message field has a text already. It was kept; send or remove it, then choose the command again." }));
  } else {
    message.value = text;
    message.dispatchEvent(new Event("input", { bubbles: true }));
  }
  message.focus();
}

/** Go to the chosen place; an answer that is still on its way is waited for. */
function go() {
  if (answered !== field.value && asking) {
    isGoing = true;
    return;
  }
  isGoing = false;
  if (options[chosen]) options[chosen].click();
  else location.assign(`${finder.dataset.search}?q=${encodeURIComponent(field.value)}`);
}

field.addEventListener("input", () => {
  isGoing = false;
  clearTimeout(timer);
  timer = setTimeout(ask, WAIT_MS);
});
field.addEventListener("keydown", (event) => {
  if (event.isComposing) return;
  if (event.key === "ArrowDown") choose(chosen + 1);
  else if (event.key === "ArrowUp") choose(chosen - 1);
  else if (event.key === "Enter") go();
  else return;
  event.preventDefault();
});
list.addEventListener("pointermove", (event) => {
  const index = options.indexOf(event.target.closest("[role=option]"));
  if (index >= 0 && index !== chosen) choose(index);
});
list.addEventListener("click", (event) => {
  const option = event.target.closest("[role=option]");
  if (!option) return;
  finder.close();
  if (!option.dataset.writes || !document.querySelector("textarea#text")) return;
  event.preventDefault();
  write(option.dataset.writes);
});
// A press beside it.
finder.addEventListener("click", (event) => {
  if (event.target === finder) finder.close();
});
finder.addEventListener("close", () => {
  clearTimeout(timer);
  asking?.abort();
  asking = null;
});

document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-palette]")) return;
  event.preventDefault();
  open();
});
document.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  event.preventDefault();
  if (finder.open) finder.close();
  else open();
});

// A command that was chosen on a page without a message field.
const written = new URLSearchParams(location.hash.slice(1)).get("write");
if (written && document.querySelector("textarea#text")) {
  history.replaceState(history.state, "", location.pathname + location.search);
  addEventListener("load", () => write(written));
}
