/* Files for a message: chosen, pasted, dropped or photographed, each with its progress. The server
   keeps them from then on, so that they survive a reload; a file that is removed leaves nothing. */

import { hexadecimal, sendInParts } from "./upload_parts.js";

const AT_ONCE = 3;
const list = document.getElementById("attachments");
const numbers = document.getElementById("attachment-numbers");
const announce = document.getElementById("announce");
const most = Number(list.dataset.most);
const mostBytes = Number(list.dataset.messageBytes);
const fileBytes = Number(list.dataset.fileBytes);

const waiting = [];
const coming = new Set();
let running = 0;

const megabytes = (bytes) => `${Math.floor(bytes / 1e6).toLocaleString("en")} MB`;
const rows = () => [...list.querySelectorAll("[data-attachment]")];

/** Note what goes with the message, and let the composer know. */
function changed() {
  list.hidden = !list.children.length;
  numbers.value = rows().map((row) => row.dataset.attachment).join(" ");
  document.dispatchEvent(new CustomEvent("jenny:attachments"));
}

function element(name, className, text = "") {
  const made = document.createElement(name);
  made.className = className;
  made.textContent = text;
  return made;
}

function icon(name) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  made.setAttribute("class", "icon");
  made.setAttribute("viewBox", "0 0 24 24");
  made.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", `#${name}`);
  made.append(use);
  return made;
}

function draw(file) {
  const row = element("li", "attachment");
  const about = element("span", "attachment-about");
  const name = element("span", "attachment-name", file.name);
  name.dir = "auto";
  const state = element("span", "attachment-facts", "waits");
  const bar = element("progress", "attachment-bar");
  bar.max = 1;
  bar.value = 0;
  bar.setAttribute("aria-label", `Upload of ${file.name}`);
  about.append(name, state, bar);
  const stop = element("button", "bare");
  stop.type = "button";
  stop.setAttribute("aria-label", `Remove ${file.name}`);
  stop.append(icon("i-remove"));
  row.append(icon("i-file"), about, stop);
  list.append(row);
  return { row, state, bar, stop };
}

function fail(shown, sentence) {
  shown.row.classList.add("failed");
  shown.bar.remove();
  shown.state.className = "attachment-problem";
  shown.state.textContent = sentence;
  announce.textContent = sentence;
}

/** Why a file is not sent at all; empty when it is. */
function refusal(file) {
  if (file.size > fileBytes) return `“${file.name}” is larger than ${megabytes(fileBytes)}, the limit in Settings → Conversation. Put it into Files and name it in the message.`;
  const others = [...coming].map((one) => one.file.size);
  const there = rows().map((row) => Number(row.dataset.size));
  if (others.length + there.length >= most) return `A message can have ${most} files. “${file.name}” was not added.`;
  const all = [...others, ...there].reduce((sum, size) => sum + size, file.size);
  return all > mostBytes ? `The files of a message can have ${megabytes(mostBytes)} together. “${file.name}” was not added.` : "";
}

/** Add files; returns at once. */
export function addFiles(files) {
  for (const file of files) {
    const shown = draw(file);
    const leave = new AbortController();
    const id = hexadecimal(16);
    const why = refusal(file);
    shown.stop.addEventListener("click", () => {
      leave.abort();
      removeRow(shown.row);
      // The server may have it, or be reading it.
      if (!why) forget(list.dataset.cancel, { id });
    });
    if (why) {
      fail(shown, why);
      continue;
    }
    const one = { file, shown, leave, id };
    coming.add(one);
    waiting.push(one);
  }
  changed();
  next();
}

function next() {
  while (running < AT_ONCE && waiting.length) {
    running += 1;
    const one = waiting.shift();
    upload(one).finally(() => {
      running -= 1;
      coming.delete(one);
      changed();
      next();
    });
  }
}

async function upload({ file, shown, leave, id }) {
  if (leave.signal.aborted) return;
  const onProgress = (part) => {
    shown.bar.value = part;
    shown.state.textContent = part < 1 ? `${Math.floor(part * 100)} %` : "is being read";
  };
  const answer = await sendInParts(list.dataset.attach, file, { id, onProgress, signal: leave.signal });
  if (leave.signal.aborted) return;
  if (answer.attachment) {
    const made = document.createElement("template");
    made.innerHTML = answer.html.trim();
    const hadFocus = shown.row.contains(document.activeElement);
    const row = made.content.firstElementChild;
    shown.row.replaceWith(row);
    if (hadFocus) row.querySelector("button").focus();
    announce.textContent = `${file.name} is attached. ${answer.problem}`.trim();
  } else {
    fail(shown, answer.stop ?? "It did not arrive.");
  }
}

function removeRow(row) {
  const name = row.querySelector(".attachment-name").textContent;
  const after = row.nextElementSibling ?? row.previousElementSibling;
  row.remove();
  (after?.querySelector("button") ?? document.getElementById("text")).focus();
  announce.textContent = `${name} was removed.`;
  changed();
}

async function forget(address, fields = {}) {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  const token = document.querySelector("#composer [name=csrfmiddlewaretoken]").value;
  const headers = { "HX-Request": "true", "X-CSRFToken": token, "X-Workspace": document.body.dataset.workspace ?? "" };
  return fetch(address, { method: "POST", body, headers, keepalive: true }).catch(() => null);
}

list.addEventListener("click", (event) => {
  const button = event.target.closest("[data-remove]");
  if (!button) return;
  event.preventDefault();
  const row = button.closest("li");
  removeRow(row);
  forget(button.dataset.remove);
});

/** True while a file is on its way. */
export const areComing = () => coming.size > 0;

export const hasFiles = () => rows().length > 0;

export const names = () => rows().map((row) => row.querySelector(".attachment-name").textContent);

/** Take the rows out of the composer; ``putBack`` shows them again when sending failed. */
export function takeRows() {
  const taken = rows();
  for (const row of list.querySelectorAll(".failed")) row.remove();
  for (const row of taken) row.remove();
  changed();
  return taken;
}

export function putBack(taken) {
  list.prepend(...taken);
  changed();
}

/* --- How files get here ------------------------------------------------------------------ */

for (const input of [document.getElementById("files"), document.getElementById("photo")]) {
  input.addEventListener("change", () => {
    addFiles([...input.files]);
    input.value = "";
  });
}

const stamp = () => new Date().toISOString().slice(11, 19).replaceAll(":", "");

/** A picture from the clipboard has no name of its own. */
function named(file) {
  if (file.name && file.name !== "image.png") return file;
  return new File([file], `pasted-${stamp()}.${file.type.split("/")[1] ?? "png"}`, { type: file.type });
}

document.getElementById("text").addEventListener("paste", (event) => {
  const { files } = event.clipboardData;
  if (!files.length || event.clipboardData.getData("text/plain")) return;
  event.preventDefault();
  addFiles([...files].map(named));
});

const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
const dock = document.getElementById("dock");
addEventListener("dragover", (event) => {
  if (!holdsFiles(event)) return;
  event.preventDefault();
  dock.classList.add("is-target");
});
addEventListener("dragleave", (event) => {
  if (!event.relatedTarget) dock.classList.remove("is-target");
});
addEventListener("drop", (event) => {
  dock.classList.remove("is-target");
  if (!event.dataTransfer.files.length) return;
  event.preventDefault();
  addFiles([...event.dataTransfer.files]);
});

addEventListener("beforeunload", (event) => {
  if (coming.size) event.preventDefault();
});
// A page that the browser kept, or whose reload kept the fields, has the rows of then.
changed();
