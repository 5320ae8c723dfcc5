/* A backup is sent in pieces, with progress; then the form goes without the file. A piece that gets
   lost is sent again. */

const PIECE = 8_000_000;
const TRIES = 5;

const form = document.querySelector("[data-pieces]");
const chooser = form?.querySelector("[type=file]");
const arrived = form?.querySelector("[name=arrived]");
const arriving = document.getElementById("arriving");
const bar = arriving?.querySelector("progress");
const part = arriving?.querySelector(".part");
const button = form?.querySelector("button");
const token = () => document.cookie.split("; ").find((one) => one.startsWith(`${document.body.dataset.csrfCookie}=`))?.split("=")[1] ?? "";

function hexadecimal(count) {
  return [...crypto.getRandomValues(new Uint8Array(count))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function post(body) {
  const answer = await fetch(form.dataset.pieces, {
    method: "POST",
    body,
    headers: { Accept: "application/json", "X-CSRFToken": token(), "X-Workspace": document.body.dataset.workspace ?? "" },
  });
  const data = await answer.json().catch(() => ({}));
  if (answer.status === 401 && data.login) {
    location.assign(data.login);
    return { stop: "Your session has ended." };
  }
  if (answer.ok) return data;
  if (answer.status < 500 || data.message) return { stop: data.message ?? `The server answered ${answer.status}.` };
  throw new Error(String(answer.status));
}

async function send(file) {
  const id = hexadecimal(16);
  let at = 0;
  let tries = 0;
  while (at < file.size) {
    const body = new FormData();
    body.set("id", id);
    body.set("at", String(at));
    body.set("size", String(file.size));
    body.set("piece", file.slice(at, at + PIECE), "piece");
    try {
      const answer = await post(body);
      if (answer.stop) return { stop: answer.stop };
      tries = 0;
      at = answer.there;
      bar.value = at / file.size;
      part.textContent = `${Math.floor(bar.value * 100)} %`;
    } catch {
      tries += 1;
      if (tries === TRIES) return { stop: "The connection was lost. Nothing was changed. Send it again." };
      await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** tries));
    }
  }
  return { id };
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
