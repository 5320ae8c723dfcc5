/* What every page needs: answers of the server that htmx would swallow, popovers that
   close when their work is done, and the one place where notices stand. */

/** Show *sentence* among the notices until it is pressed away or the page changes. */
function notice(sentence) {
  // A form that is answered in place exchanges them, too.
  const notices = document.getElementById("notices");
  if (!notices) return;
  const line = document.createElement("p");
  line.className = "notice error";
  line.setAttribute("role", "alert");
  line.textContent = sentence;
  notices.querySelector(".notice.error[role=alert]")?.remove();
  notices.append(line);
}

document.addEventListener("jenny:notice", (event) => notice(event.detail));

/** Ask for the standing notices anew: what they count has changed, or may have. */
async function refreshNotices() {
  const place = document.getElementById("standing");
  if (!place || document.hidden) return;
  const answer = await fetch(place.dataset.notices, { headers: { "HX-Request": "true", "HX-Current-URL": location.href } }).catch(() => null);
  if (!answer?.ok || answer.headers.has("HX-Redirect")) return;
  // Whoever is on one of them stays there.
  if (place.contains(document.activeElement)) return;
  const isOpen = place.querySelector("details")?.open;
  place.innerHTML = await answer.text();
  if (isOpen) place.querySelector("details")?.setAttribute("open", "");
  window.htmx?.process(place);
}

document.addEventListener("visibilitychange", refreshNotices);
document.addEventListener("jenny:event", ({ detail }) => {
  if (detail.kind === "state" && detail.state === "idle") refreshNotices();
});
document.addEventListener("htmx:afterRequest", ({ detail }) => {
  if (detail.successful && detail.requestConfig.verb === "post" && !detail.elt.closest("#standing")) refreshNotices();
});

document.addEventListener("htmx:sendError", () => {
  notice("Jenny could not be reached, so nothing was changed. Check that she runs, then try again.");
});

document.addEventListener("htmx:responseError", (event) => {
  const { xhr } = event.detail;
  const isText = (xhr.getResponseHeader("content-type") ?? "").startsWith("text/plain");
  notice(isText && xhr.responseText ? xhr.responseText : `Nothing was changed: the server answered ${xhr.status}. Load the page again, then try again.`);
});

// What is asked for again and again waits while somebody is on one of its links or buttons.
document.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.target.matches("[data-live]") && detail.target.contains(document.activeElement)) detail.shouldSwap = false;
});

// A form that was refused (422) comes back as a fragment that shows why.
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.xhr.status === 422) {
    event.detail.shouldSwap = true;
    event.detail.isError = false;
  }
});

document.addEventListener("htmx:afterRequest", (event) => {
  const popover = event.detail.elt.dataset?.closes;
  if (popover && event.detail.successful) document.getElementById(popover)?.hidePopover();
});

// A drawer that stays open over the page one has just reached is in the way.
document.getElementById("sidebar")?.addEventListener("click", (event) => {
  if (event.target.closest("a") && event.currentTarget.matches(":popover-open")) event.currentTarget.hidePopover();
});

/* --- Busy buttons ---------------------------------------------------------------------- */

/** Let *button* say what it waits for, or what it said before. */
function setBusy(button, isBusy) {
  if (!button || isBusy === button.matches("[aria-busy]")) return;
  if (isBusy) {
    button.dataset.idle = button.innerHTML;
    button.textContent = button.dataset.busy;
    button.setAttribute("aria-busy", "true");
  } else {
    button.innerHTML = button.dataset.idle;
    button.removeAttribute("aria-busy");
  }
}

document.addEventListener("submit", (event) => {
  const button = event.submitter;
  if (!button?.matches("[data-busy]")) return;
  // A second press must not send it twice.
  if (button.matches("[aria-busy]")) event.preventDefault();
  else if (!event.defaultPrevented) setBusy(button, true);
});
document.addEventListener("htmx:beforeRequest", ({ target }) => setBusy(target.querySelector?.("[data-busy]"), true));
document.addEventListener("htmx:afterRequest", ({ target }) => setBusy(target.querySelector?.("[data-busy]"), false));
// The browser shows a page that one comes back to as it was left.
addEventListener("pageshow", () => document.querySelectorAll("[aria-busy][data-busy]").forEach((button) => setBusy(button, false)));

// Drafts belong to whoever is logged in; the next person on this browser must not see them.
document.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-logout]")) return;
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith("jenny.draft.")) localStorage.removeItem(key);
  }
});

// Frames of diagrams are as high as what is drawn in them.
addEventListener("message", ({ source, data }) => {
  if (data?.kind !== "jenny-diagram" || !Number.isFinite(data.height)) return;
  for (const frame of document.querySelectorAll("iframe.diagram")) {
    if (frame.contentWindow === source) frame.style.height = `${Math.min(2000, Math.max(48, data.height))}px`;
  }
});

// Shows the offline page when Jenny cannot be reached; it keeps no other page.
if (isSecureContext) navigator.serviceWorker?.register("/offline/worker.js", { scope: "/" }).catch(() => {});
