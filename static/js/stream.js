/* The page's one event stream: keeps it open while somebody may be looking, resumes where it
   stopped, and hands each event to thread.js as "jenny:event".

   A position (an event's id) is the only state. Whatever goes wrong, the stream is opened again
   behind the newest position, or the thread is rendered anew by the server ("jenny:reset"). */

const HIDDEN_MS = 60_000;
const FIRST_WAIT_MS = 400;
const LONGEST_WAIT_MS = 20_000;
// A blink of the network is not worth a word.
const GRACE_MS = 900;
// The server gives a sign of life every ten seconds; after three that did not come there is no
// connection any more, though nobody said so (a cable, a sleep).
const SILENCE_MS = 32_000;
const LOOK_MS = 5_000;

const page = () => document.getElementById("thread");

let source = null;
let position = page()?.dataset.position ?? "";
let failures = 0;
let resets = 0;
let over = !page()?.dataset.events;
let reopening = 0;
let hiding = 0;
let asleep = false;
let openedAt = 0;
let heardAt = 0;
let saying = 0;

const tell = (name, detail) => document.dispatchEvent(new CustomEvent(name, { detail }));

function connection(state) {
  clearTimeout(saying);
  if (state === "lost") saying = setTimeout(() => tell("jenny:connection", "lost"), GRACE_MS);
  else tell("jenny:connection", state);
}

function close() {
  clearTimeout(reopening);
  source?.close();
  source = null;
}

function open() {
  close();
  if (over || asleep) return;
  const address = new URL(page().dataset.events, location.href);
  address.searchParams.set("after", position);
  source = new EventSource(address);
  openedAt = 0;
  heardAt = Date.now();
  source.onopen = () => {
    openedAt = heardAt = Date.now();
    connection("open");
  };
  source.onmessage = (message) => {
    failures = 0;
    heardAt = Date.now();
    const event = JSON.parse(message.data);
    if (event.kind === "alive") return;
    if (event.kind === "expired") return expire(event.login);
    if (event.kind === "reset") return renew();
    // An event applied is an event passed, so the position moves with it, never before it.
    const before = resets;
    tell("jenny:event", event);
    if (resets === before) resets = 0;
    if (message.lastEventId) position = message.lastEventId;
  };
  source.onerror = () => {
    const refused = source?.readyState === EventSource.CLOSED;
    if (openedAt && Date.now() - openedAt > LONGEST_WAIT_MS) failures = 0;
    close();
    retry(refused);
  };
}

function retry(refused) {
  if (over || asleep) return;
  connection("lost");
  const longest = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures);
  failures += 1;
  // With jitter, so that a restarted server is not met by every tab at once.
  reopening = setTimeout(refused ? reset : open, longest * (0.5 + Math.random() / 2));
}

/** The first reset is followed at once. One that comes before anything else did shows that the
    fresh thread did not help: the next waits, and longer each time, so that no page ever asks
    in a circle. */
function renew() {
  close();
  const wait = resets ? Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** resets) : 0;
  resets += 1;
  if (wait) reopening = setTimeout(reset, wait * (0.5 + Math.random() / 2));
  else reset();
}

/** Render the thread anew from the server, then go on from there. Tells a lost session from a lost server. */
async function reset() {
  close();
  if (over || asleep) return;
  let answer;
  try {
    answer = await fetch(page().dataset.fragment, { headers: { "HX-Request": "true", "HX-Current-URL": location.href }, cache: "no-store" });
  } catch {
    return retry(true);
  }
  const login = answer.headers.get("HX-Redirect");
  if (login) return expire(login);
  if (answer.status === 404) return gone();
  if (!answer.ok) return retry(true);
  tell("jenny:reset", await answer.text());
  position = page().dataset.position;
  open();
}

function gone() {
  over = true;
  connection("open");
  tell("jenny:notice", "This conversation was deleted, perhaps in another tab. Nothing more can be sent to it.");
}

function expire(login) {
  over = true;
  close();
  tell("jenny:expired", login);
  location.assign(login);
}

/** Let go of the connection while nobody looks: a browser has six for all tabs of a site. */
function watchSight() {
  clearTimeout(hiding);
  if (document.hidden) {
    hiding = setTimeout(() => {
      // Whoever waits for an answer in another tab is told when it is there.
      if (page().dataset.state !== "idle") return watchSight();
      asleep = true;
      close();
    }, HIDDEN_MS);
    return;
  }
  asleep = false;
  if (!source) wake();
}

function wake() {
  failures = 0;
  open();
}

function listen() {
  if (!source || document.hidden || Date.now() - heardAt < SILENCE_MS) return;
  close();
  retry(false);
}

document.addEventListener("visibilitychange", () => { watchSight(); listen(); });
addEventListener("online", wake);
addEventListener("offline", () => {
  close();
  if (!over) connection("lost");
});
setInterval(listen, LOOK_MS);
addEventListener("pagehide", close);
addEventListener("pageshow", (event) => { if (event.persisted && !over) reset(); });
document.addEventListener("jenny:stale", renew);

if (!over) {
  open();
  watchSight();
}
