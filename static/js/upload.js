/* Uploads in pieces, with progress: files of any size, several after one another, by the button,
   the form or by dropping them. A piece that gets lost is sent again. */

const PIECE = 8_000_000;
const TRIES = 5;

const main = document.getElementById("main");
const list = document.getElementById("arriving");
const button = document.querySelector("[data-upload]");
const form = document.querySelector("[data-upload-form]");
const address = button?.dataset.upload ?? form?.dataset.uploadForm;
const token = () => document.cookie.split("; ").find((one) => one.startsWith(`${document.body.dataset.csrfCookie}=`))?.split("=")[1] ?? "";

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

function hexadecimal(count) {
  return [...crypto.getRandomValues(new Uint8Array(count))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function post(body) {
  const answer = await fetch(address, {
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
  if (answer.status < 500) return { stop: data.message ?? `The server answered ${answer.status}.` };
  throw new Error(String(answer.status));
}

async function send(file) {
  const { row, state, bar } = line(file.name);
  const id = hexadecimal(16);
  let at = 0;
  let tries = 0;
  while (true) {
    const body = new FormData();
    body.set("id", id);
    body.set("name", file.name);
    body.set("at", String(at));
    body.set("size", String(file.size));
    body.set("piece", file.slice(at, at + PIECE), "piece");
    try {
      const answer = await post(body);
      if (answer.stop) {
        fail(row, state, bar, answer.stop);
        return;
      }
      tries = 0;
      at = answer.there;
      bar.value = file.size ? at / file.size : 1;
      state.textContent = `${Math.floor(bar.value * 100)} %`;
      if (answer.path) {
        state.textContent = "stored";
        return;
      }
    } catch {
      tries += 1;
      if (tries === TRIES) {
        fail(row, state, bar, "The connection was lost. Nothing of it was stored.");
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** tries));
    }
  }
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
