/* What is typed survives: in this browser at once, on the server a moment later. */

const WAIT_MS = 700;
const form = document.getElementById("composer");
const field = document.getElementById("text");
const key = `jenny.draft.${document.body.dataset.account ?? ""}.${form.dataset.draft}`;

let waiting = 0;
let saved = field.value;

/** The browser's own copy: {text, saved}, saved when the server has it too. */
function local() {
  try {
    return JSON.parse(localStorage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

function remember(text, isSaved) {
  try {
    if (text) localStorage.setItem(key, JSON.stringify({ text, saved: isSaved }));
    else localStorage.removeItem(key);
  } catch {
    // A full or forbidden store: the server's copy is the one that is left.
  }
}

async function store() {
  clearTimeout(waiting);
  const text = field.value;
  if (text === saved) return;
  const body = new FormData();
  body.set("text", text);
  try {
    const answer = await fetch(form.dataset.draft, {
      method: "POST",
      body,
      headers: { "HX-Request": "true", "HX-Current-URL": location.href, "X-CSRFToken": form.querySelector("[name=csrfmiddlewaretoken]").value },
      keepalive: text.length < 20_000,
    });
    if (!answer.ok || answer.redirected || answer.headers.has("HX-Redirect")) return;
    saved = text;
    if (field.value === text) remember(text, true);
  } catch {
    // It is in the browser; the next keystroke tries again.
  }
}

field.addEventListener("input", () => {
  remember(field.value, false);
  clearTimeout(waiting);
  waiting = setTimeout(store, WAIT_MS);
});
// Sent: the field is empty already, and the server drops its copy with the message.
document.addEventListener("jenny:sent", ({ detail }) => {
  clearTimeout(waiting);
  remember(detail.text, false);
});
document.addEventListener("jenny:accepted", () => {
  saved = "";
  remember(field.value, false);
});
addEventListener("pagehide", store);

// What the server does not have yet is newer than what it has.
const mine = local();
if (mine && !mine.saved && mine.text !== field.value) {
  field.value = mine.text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
}
