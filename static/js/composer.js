/* Sending. What was typed shows at once as sent and stays marked until the server has it;
   if it does not get there, it goes back into the field with a sentence. */

import { areComing, hasFiles, names, putBack, takeRows } from "./attachments.js";

const TIMEOUT_MS = 20_000;
const form = document.getElementById("composer");
const field = document.getElementById("text");
const send = document.getElementById("send");
const stop = document.getElementById("stop");
const status = document.getElementById("status");
const announce = document.getElementById("announce");

const tell = (name, detail) => document.dispatchEvent(new CustomEvent(name, { detail }));

/* --- The field ------------------------------------------------------------------------- */

const growsByItself = CSS.supports("field-sizing", "content");

function fit() {
  if (growsByItself) return;
  field.style.height = "auto";
  field.style.height = `${field.scrollHeight}px`;
}

// On a touch keyboard there is no Shift and Enter: Enter makes a new line, the button sends.
const byTouch = matchMedia("(pointer: coarse)");

function tellKeys() {
  field.enterKeyHint = byTouch.matches ? "enter" : "send";
  document.getElementById("keys").textContent = byTouch.matches
    ? "Enter makes a new line, the Send button sends, a slash opens the commands."
    : "Enter sends, Shift and Enter make a new line, a slash opens the commands.";
}

byTouch.addEventListener("change", tellKeys);
tellKeys();

field.addEventListener("input", fit);
field.addEventListener("keydown", (event) => {
  if (byTouch.matches) return;
  // 229: an input method composes, though the browser does not say so.
  if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
  if (event.defaultPrevented) return;
  event.preventDefault();
  if (field.value.trim() || hasFiles() || areComing()) form.requestSubmit();
});
fit();
// With a keyboard one writes at once; on a phone the keys would cover what one came to read.
if (!byTouch.matches && !location.hash && document.activeElement === document.body) field.focus({ preventScroll: true });

/* --- How much is written, said before it is sent ---------------------------------------- */

const SAID_FROM = 4_000;
const most = Number(field.dataset.most);
const size = document.getElementById("size");

function measure() {
  // What JavaScript counts is never less than what the server does.
  const count = field.value.length > most ? [...field.value].length : field.value.length;
  const isTooLong = count > most;
  size.dataset.tone = isTooLong ? "bad" : "";
  const parts = count > SAID_FROM ? [`${count.toLocaleString("en")} of at most ${most.toLocaleString("en")} characters.`] : [];
  if (isTooLong) parts.push(" Too long to be sent: ", link("/workspace/", "save it as a file"), " and name it here.");
  else if (count > 5 * SAID_FROM) parts.push(" Long texts are better ", link("/workspace/", "as a file"), " that you name here.");
  size.replaceChildren(...parts);
}

function link(href, words) {
  const found = document.createElement("a");
  found.href = href;
  found.textContent = words;
  return found;
}

field.addEventListener("input", measure);
measure();

const starts = [...document.querySelectorAll("[data-start]")];
for (const start of starts) {
  start.addEventListener("click", () => {
    // What was typed stays; only another example gives way.
    const typed = starts.some((one) => one.dataset.start === field.value) ? "" : field.value.trimEnd();
    field.value = typed ? `${typed}\n${start.dataset.start}` : start.dataset.start;
    field.focus();
    field.setSelectionRange(field.value.length, field.value.length);
    field.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

/* --- Sending --------------------------------------------------------------------------- */

// One key a text and its files: sent twice, or sent again after a lost answer, it is one message.
let attempt = { text: "", key: "" };
let failed = null;

function keyFor(words, files) {
  const text = `${files}\n${words}`;
  if (attempt.text !== text || !attempt.key) {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    attempt = { text, key: [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("") };
  }
  return attempt.key;
}

function pending(text, key, files) {
  const item = document.createElement("article");
  item.className = "item user pending";
  item.dataset.key = key;
  item.setAttribute("aria-label", "You, being sent");
  const said = document.createElement("div");
  said.className = "said";
  const words = document.createElement("p");
  words.className = "words";
  words.dir = "auto";
  for (const name of files) {
    const file = document.createElement("p");
    file.className = "attachment-name";
    file.dir = "auto";
    file.textContent = name;
    said.append(file);
  }
  words.textContent = text.length > SAID_FROM ? `${text.slice(0, 600)}…` : text;
  const meta = document.createElement("footer");
  meta.className = "meta";
  said.append(words);
  item.append(said, meta);
  document.getElementById("thread").append(item);
  document.getElementById("welcome")?.remove();
  return item;
}

function giveBack(item, text, rows, sentence) {
  item.remove();
  putBack(rows);
  field.value = field.value.trim() ? `${text}\n\n${field.value}` : text;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.focus();
  say(sentence, "bad");
}

const csrf = () => form.querySelector("[name=csrfmiddlewaretoken]").value;

async function post(text, key, numbers) {
  const body = new FormData(form);
  body.delete("files");
  body.set("attachments", numbers);
  body.set("text", text);
  body.set("client_key", key);
  return fetch(form.action, {
    method: "POST",
    body,
    headers: { "HX-Request": "true", "HX-Current-URL": location.href, "X-CSRFToken": csrf() },
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
}

async function reason(answer) {
  const kind = answer.headers.get("content-type") ?? "";
  if (kind.startsWith("application/json")) return (await answer.json()).message ?? "";
  if (answer.status === 404) return "This conversation was deleted. Copy your text into a new chat.";
  if (answer.status === 507) return "The disk is full: this was not stored. Make room, then send it again.";
  return `The server answered ${answer.status}.`;
}

let isAsked = false;

document.addEventListener("jenny:attachments", () => {
  if (!isAsked || areComing()) return;
  isAsked = false;
  say("");
  // One that failed stays in sight; what to do with it is for the person to say.
  if (!document.querySelector("#attachments .failed")) form.requestSubmit();
});

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (areComing()) {
    // Sent as soon as the last file is there.
    isAsked = true;
    say("Your message is sent when its files are there…");
    return;
  }
  const text = field.value;
  if ((!text.trim() && !hasFiles()) || send.disabled || size.dataset.tone === "bad") return;
  const numbers = document.getElementById("attachment-numbers").value;
  const key = keyFor(text, numbers);
  send.disabled = true;
  const item = pending(text, key, names());
  const rows = takeRows();
  field.value = "";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  say("");
  tell("jenny:sent", { text, key });
  try {
    const answer = await post(text, key, numbers);
    const elsewhere = answer.headers.get("HX-Redirect");
    if (elsewhere) {
      // The session is over, or this page is older than it; the text waits there.
      giveBack(item, text, rows, "Not sent: your session has ended. Your text is kept.");
      location.assign(elsewhere);
    } else if (!answer.ok) {
      giveBack(item, text, rows, `Not sent; your text is back in the field. ${await reason(answer)}`);
    } else {
      const { url, keeps_files: keepsFiles } = await answer.json();
      if (keepsFiles) putBack(rows);
      attempt = { text: "", key: "" };
      tell("jenny:accepted");
      if (new URL(url, location.href).pathname !== location.pathname) location.assign(url);
    }
  } catch {
    if (document.querySelector(`[data-key="${CSS.escape(key)}"]:not(.pending)`)) {
      // Only the answer was lost: the stream has brought the message already.
      attempt = { text: "", key: "" };
      tell("jenny:accepted");
      return;
    }
    failed = { text, key };
    giveBack(item, text, rows, "Not sent: Jenny could not be reached. Your text is back in the field; try again.");
  } finally {
    send.disabled = false;
  }
});

// The answer was lost but the message was not: it must not wait in the field to be sent again.
document.addEventListener("jenny:item", ({ detail }) => {
  if (!failed || detail.key !== failed.key) return;
  if (field.value === failed.text) {
    takeRows();
    field.value = "";
    field.dispatchEvent(new Event("input", { bubbles: true }));
    say("");
  }
  attempt = { text: "", key: "" };
  failed = null;
});

/* --- What is going on ------------------------------------------------------------------ */

const STATES = { queued: "Waiting for a worker…", running: "Jenny is working…", idle: "" };
let state = status.dataset.state;
let connected = true;

export function say(sentence, tone = "") {
  status.textContent = sentence || (connected ? STATES[state] : "Reconnecting…");
  status.dataset.tone = sentence ? tone : "";
  status.dataset.state = connected ? state : "lost";
  if (sentence) announce.textContent = sentence;
}

document.addEventListener("jenny:event", ({ detail }) => {
  if (detail.kind !== "state") return;
  const before = state;
  state = detail.state in STATES ? detail.state : "idle";
  if (stop) {
    stop.hidden = state === "idle";
    stop.disabled = false;
  }
  say("");
  if (state === "idle" && before !== "idle") announce.textContent = detail.message || "Jenny has answered.";
  else if (state !== "idle" && before === "idle") announce.textContent = "Jenny is working.";
});
document.addEventListener("jenny:connection", ({ detail }) => {
  const was = connected;
  connected = detail !== "lost";
  if (was !== connected) say("");
});
document.getElementById("stop-form")?.addEventListener("submit", () => {
  stop.disabled = true;
  say("Stopping…");
});
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.target.id !== "stop-form" || event.detail.successful) return;
  stop.disabled = false;
  say("Stop did not reach Jenny. Try again.", "bad");
});
