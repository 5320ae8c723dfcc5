/* Sends a file in parts, with progress. A part that gets lost is sent again. */

const PART = 8_000_000;
const TRIES = 5;

const token = () => document.cookie.split("; ").find((one) => one.startsWith(`${document.body.dataset.csrfCookie}=`))?.split("=")[1] ?? "";

export function hexadecimal(count) {
  return [...crypto.getRandomValues(new Uint8Array(count))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The server's answer; {stop: sentence} when it refuses. Throws when another try may help. */
export async function post(address, body, signal) {
  const answer = await fetch(address, {
    method: "POST",
    body,
    headers: { Accept: "application/json", "X-CSRFToken": token(), "X-Workspace": document.body.dataset.workspace ?? "" },
    signal,
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

/** Send the file; return the answer to its last part, with its id, or {stop: sentence}. */
export async function sendInParts(address, file, { id = hexadecimal(16), onProgress = () => {}, signal, lost = "The connection was lost. Nothing of it was stored." } = {}) {
  let at = 0;
  let tries = 0;
  while (true) {
    const body = new FormData();
    body.set("id", id);
    body.set("name", file.name);
    body.set("at", String(at));
    body.set("size", String(file.size));
    body.set("piece", file.slice(at, at + PART), "piece");
    try {
      const answer = await post(address, body, signal);
      if (answer.stop) return answer;
      tries = 0;
      at = answer.there;
      onProgress(file.size ? at / file.size : 1);
      if (at >= file.size) return { ...answer, id };
    } catch (error) {
      if (signal?.aborted) return { stop: "The upload was cancelled." };
      tries += 1;
      if (tries === TRIES) return { stop: lost, cause: error };
      await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** tries));
    }
  }
}
