/* What every page needs: answers of the server that htmx would swallow, popovers that
   close when their work is done, and the one place where notices stand. */

const notices = document.getElementById("notices");

/** Show *sentence* among the notices until it is pressed away or the page changes. */
function notice(sentence) {
  if (!notices) return;
  const line = document.createElement("p");
  line.className = "notice error";
  line.setAttribute("role", "alert");
  line.textContent = sentence;
  notices.querySelector(".notice.error[role=alert]")?.remove();
  notices.append(line);
}

document.addEventListener("jenny:notice", (event) => notice(event.detail));

document.addEventListener("htmx:sendError", () => {
  notice("Jenny could not be reached, so nothing was changed. Check that she runs, then try again.");
});

document.addEventListener("htmx:responseError", (event) => {
  const { xhr } = event.detail;
  const isText = (xhr.getResponseHeader("content-type") ?? "").startsWith("text/plain");
  notice(isText && xhr.responseText ? xhr.responseText : `Nothing was changed: the server answered ${xhr.status}. Load the page again, then try again.`);
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

// Drafts belong to whoever is logged in; the next person on this browser must not see them.
document.addEventListener("submit", (event) => {
  if (!event.target.matches("[data-logout]")) return;
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith("jenny.draft.")) localStorage.removeItem(key);
  }
});

// Shows the offline page when Jenny cannot be reached; it keeps no other page.
if (isSecureContext) navigator.serviceWorker?.register("/offline/worker.js", { scope: "/" }).catch(() => {});
