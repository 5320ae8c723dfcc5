/* Uploads in pieces, with progress: files of any size, several after one another, by the button,
   the form or by dropping them. A piece that gets lost is sent again. */

import { sendInParts } from "./upload_parts.js";

const main = document.getElementById("main");
const list = document.getElementById("arriving");
const button = document.querySelector("[data-upload]");
const form = document.querySelector("[data-upload-form]");
const address = button?.dataset.upload ?? form?.dataset.uploadForm;

let queue = Promise.resolve();
let waiting = 0;
let failed = 0;

function line(name) {
  const row = document.createElement("p");
  const label = document.createElement("span");
  label.textContent = name;
  const state = document.createElement("span");
  const bar = document.createElement("progress");
  bar.max = 1;
  bar.value = 0;
  bar.setAttribute("aria-label", name);
  row.append(label, state, bar);
  list.hidden = false;
  list.append(row);
  return { row, state, bar };
}

async function send(file) {
  const { row, state, bar } = line(file.name);
  const onProgress = (part) => {
    bar.value = part;
    state.textContent = `${Math.floor(part * 100)} %`;
  };
  const answer = await sendInParts(address, file, { onProgress });
  if (answer.stop) fail(row, state, bar, answer.stop);
  else state.textContent = "stored";
}

function fail(row, state, bar, sentence) {
  failed += 1;
  row.classList.add("failed");
  state.textContent = sentence;
  bar.remove();
}

function take(files) {
  for (const file of files) {
    waiting += 1;
    queue = queue.then(() => send(file)).finally(() => {
      waiting -= 1;
      if (waiting === 0 && failed === 0) location.assign(button ? location.href : form.querySelector("a.button").href);
    });
  }
}

if (address) {
  button?.addEventListener("click", (event) => {
    event.preventDefault();
    const chooser = document.createElement("input");
    chooser.type = "file";
    chooser.multiple = true;
    chooser.addEventListener("change", () => take(chooser.files));
    chooser.click();
  });

  form?.addEventListener("submit", (event) => {
    event.preventDefault();
    take(form.querySelector("[type=file]").files);
  });

  const holdsFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  main.addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    main.classList.add("is-target");
  });
  main.addEventListener("dragleave", (event) => {
    if (!main.contains(event.relatedTarget)) main.classList.remove("is-target");
  });
  main.addEventListener("drop", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    main.classList.remove("is-target");
    take(event.dataTransfer.files);
  });

  addEventListener("beforeunload", (event) => {
    if (waiting) event.preventDefault();
  });
}
