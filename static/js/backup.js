/* A backup is sent in pieces, with progress; then the form goes without the file. A piece that gets
   lost is sent again. */

import { sendInParts } from "./upload_parts.js";

const form = document.querySelector("[data-pieces]");
const chooser = form?.querySelector("[type=file]");
const arrived = form?.querySelector("[name=arrived]");
const arriving = document.getElementById("arriving");
const bar = arriving?.querySelector("progress");
const part = arriving?.querySelector(".part");
const button = form?.querySelector("button");

function send(file) {
  const onProgress = (done) => {
    bar.value = done;
    part.textContent = `${Math.floor(done * 100)} %`;
  };
  return sendInParts(form.dataset.pieces, file, { onProgress, lost: "The connection was lost. Nothing was changed. Send it again." });
}

function fail(sentence) {
  button.disabled = false;
  bar.hidden = true;
  part.textContent = sentence;
}

form?.addEventListener("submit", async (event) => {
  const [file] = chooser.files;
  if (!file) return;
  event.preventDefault();
  button.disabled = true;
  arriving.hidden = false;
  bar.hidden = false;
  if (file.size === 0) {
    fail("This file is empty. Choose another one.");
    return;
  }
  const done = await send(file);
  if (done.stop) {
    fail(done.stop);
    return;
  }
  arrived.value = done.id;
  chooser.disabled = true; // the file is there: the form goes without it
  form.submit();
});
