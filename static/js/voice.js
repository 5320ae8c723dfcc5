/* Voice where the browser has it: a message is dictated, an answer read aloud. Sound and text leave
   the device for that only where the settings say so. */

import { say } from "./composer.js";

const { dictation, reading } = document.getElementById("dock").dataset;
const field = document.getElementById("text");
const form = document.getElementById("composer");
const announce = document.getElementById("announce");
const language = navigator.language || "en";

/* --- Dictation -------------------------------------------------------------------------- */

const Recognition = window.SpeechRecognition ?? window.webkitSpeechRecognition;
const button = document.getElementById("dictate");
const label = button.querySelector("span");
const HERE = { langs: [language], processLocally: true };
const SENT_AWAY = "Dictation is off: this browser would send what you say to its maker. Settings → Conversation can allow it.";
const ERRORS = {
  "not-allowed": "This page may not use the microphone: allow it in the browser's settings.",
  "service-not-allowed": "The browser allows no dictation here.",
  "audio-capture": "No microphone was found.",
  "no-speech": "Nothing was heard.",
  "language-not-supported": `The browser cannot make text of this language (${language}) on this device.`,
  network: "The browser could not reach what makes text of sound.",
};
let listener = null;
// What stands before and after the dictated words, and how many results are in it already.
let before = "";
let after = "";
let taken = 0;
let count = 0;
let isOwnInput = false;

/** "available", "downloadable" or "downloading" where the device itself makes text of sound. */
async function availability() {
  if (!Recognition.available || !("processLocally" in Recognition.prototype)) return "unavailable";
  try {
    return await Recognition.available(HERE);
  } catch {
    return "unavailable";
  }
}

async function mayListen() {
  const found = await availability();
  if (found === "unavailable") return dictation === "anywhere" ? { isLocal: false } : null;
  if (found === "available") return { isLocal: true };
  say("The browser fetches what it needs to understand you on this device…");
  const isThere = await Recognition.install(HERE).catch(() => false);
  say("");
  return isThere || dictation === "anywhere" ? { isLocal: isThere } : null;
}

function mark() {
  before = field.value.slice(0, field.selectionStart);
  after = field.value.slice(field.selectionEnd);
  taken = count;
}

function put(results) {
  count = results.length;
  const words = [...results].slice(taken).map((result) => result[0].transcript).join("").trim();
  if (!words) return;
  const start = `${before}${/\S$/.test(before) ? " " : ""}${words}`;
  field.value = `${start}${/^\S/.test(after) ? " " : ""}${after}`;
  field.setSelectionRange(start.length, start.length);
  isOwnInput = true;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  isOwnInput = false;
}

function show(isListening) {
  button.setAttribute("aria-pressed", String(isListening));
  label.textContent = isListening ? "Stop dictating" : "Dictate";
}

async function listen() {
  button.disabled = true;
  const allowed = await mayListen().catch(() => undefined);
  button.disabled = false;
  button.focus();
  if (!allowed) {
    say(allowed === null ? SENT_AWAY : "The browser could not listen. Try again.", "bad");
    return;
  }
  stopReading();
  const heard = new Recognition();
  heard.lang = language;
  heard.continuous = true;
  heard.interimResults = true;
  if (allowed.isLocal) heard.processLocally = true;
  let problem = "";
  heard.addEventListener("result", (event) => {
    if (heard === listener) put(event.results);
  });
  heard.addEventListener("error", (event) => {
    if (event.error !== "aborted") problem = ERRORS[event.error] ?? "The browser could not listen. Try again.";
  });
  heard.addEventListener("end", () => {
    if (heard !== listener) return;
    listener = null;
    show(false);
    say(problem, "bad");
    if (!problem) announce.textContent = "Dictation has ended.";
  });
  listener = heard;
  count = 0;
  mark();
  try {
    heard.start();
  } catch {
    listener = null;
    say("The browser could not listen. Try again.", "bad");
    return;
  }
  show(true);
  field.focus();
  say("Listening. Escape or the button ends it.");
}

/** End at once; what is still being understood is left out. */
function stopListening() {
  const heard = listener;
  listener = null;
  heard?.abort();
  show(false);
}

if (Recognition && window.isSecureContext && dictation !== "off") {
  button.hidden = false;
  availability().then((found) => {
    if (found !== "unavailable" || dictation === "anywhere") return;
    button.dataset.off = "";
    button.title = SENT_AWAY;
  });
  button.addEventListener("click", () => {
    if (listener) listener.stop();
    else listen();
  });
  field.addEventListener("input", () => {
    // Typed meanwhile: what was heard up to here stays as it now is.
    if (listener && !isOwnInput) mark();
  });
  form.addEventListener("submit", () => {
    if (!listener) return;
    stopListening();
    say("");
  });
}

/* --- Reading aloud ---------------------------------------------------------------------- */

const synthesis = window.speechSynthesis;
// A long text at once is cut off by some browsers.
const PIECE = 300;
const BLOCKS = "p, li, h1, h2, h3, h4, h5, h6, tr, dt, dd, summary, div";
const UNREAD = ".code, .sr-only, .footnote-ref, .footnote-back, button, annotation, iframe";
let readId = "";

const voices = () => synthesis.getVoices().filter((voice) => voice.localService || reading === "anywhere");

function voiceOf() {
  const all = voices();
  const main = language.split("-")[0];
  return (
    all.find((voice) => voice.lang === language && voice.default) ??
    all.find((voice) => voice.lang === language) ??
    all.find((voice) => voice.lang.split(/[-_]/)[0] === main) ??
    all.find((voice) => voice.default) ??
    all[0]
  );
}

/** The words of an answer in lines; code is left out, a picture is its description. */
function linesOf(item) {
  const lines = [];
  for (const text of item.querySelectorAll(".blocks > .prose, :scope > .prose")) {
    const copy = text.cloneNode(true);
    for (const part of copy.querySelectorAll(UNREAD)) part.remove();
    for (const image of copy.querySelectorAll("img")) image.replaceWith(image.alt);
    for (const cell of copy.querySelectorAll("td, th")) cell.append(", ");
    for (const block of copy.querySelectorAll(BLOCKS)) {
      block.prepend("\n");
      block.append("\n");
    }
    lines.push(...copy.textContent.split("\n").map((line) => line.trim()).filter(Boolean));
  }
  return lines;
}

function piecesOf(line) {
  if (line.length <= PIECE || !Intl.Segmenter) return [line];
  const pieces = [""];
  for (const { segment } of new Intl.Segmenter(language, { granularity: "sentence" }).segment(line)) {
    if (pieces.at(-1).length + segment.length > PIECE) pieces.push("");
    pieces[pieces.length - 1] += segment;
  }
  return pieces.filter((piece) => piece.trim());
}

function showReading(id) {
  readId = id;
  for (const each of document.querySelectorAll("[data-read]")) {
    const isRead = each.dataset.read === id;
    each.setAttribute("aria-pressed", String(isRead));
    each.querySelector("span").textContent = isRead ? "Stop reading" : "Read aloud";
  }
}

function stopReading() {
  if (!readId) return;
  showReading("");
  synthesis.cancel();
}

function read(id) {
  stopReading();
  const voice = voiceOf();
  const pieces = linesOf(document.getElementById(id)).flatMap(piecesOf);
  if (!voice || !pieces.length) {
    announce.textContent = "There are no words to be read.";
    return;
  }
  if (listener) {
    stopListening();
    say("");
  }
  showReading(id);
  const spoken = pieces.map((piece) => {
    const one = new SpeechSynthesisUtterance(piece);
    one.voice = voice;
    one.lang = voice.lang;
    one.addEventListener("error", (event) => {
      if (readId !== id || event.error === "interrupted" || event.error === "canceled") return;
      stopReading();
      say("The browser could not read the answer aloud.", "bad");
    });
    return one;
  });
  spoken.at(-1).addEventListener("end", () => {
    if (readId === id) showReading("");
  });
  for (const one of spoken) synthesis.speak(one);
}

if (synthesis && reading !== "off") {
  const offer = () => document.documentElement.toggleAttribute("data-reads-aloud", voices().length > 0);
  offer();
  // Most browsers list their voices later.
  synthesis.addEventListener?.("voiceschanged", offer);
  document.addEventListener("click", (event) => {
    const pressed = event.target.closest("[data-read]");
    if (!pressed) return;
    if (pressed.dataset.read === readId) stopReading();
    else read(pressed.dataset.read);
  });
  addEventListener("pagehide", stopReading);
}

// Before the page's other keys, which leave the field.
document.addEventListener(
  "keydown",
  (event) => {
    if (event.key !== "Escape" || event.isComposing || !(listener || readId)) return;
    event.preventDefault();
    listener?.stop();
    stopReading();
  },
  { capture: true },
);
