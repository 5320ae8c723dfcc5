/* The words that were selected on the page, brought along behind the address's #, where no server
   and no log sees them. */

const brought = new URLSearchParams(location.hash.slice(1));
const passage = document.querySelector("[name=passage]");

if (passage && !passage.value && brought.get("passage")) {
  passage.value = brought.get("passage");
  document.querySelector("[name=before]").value = brought.get("before") ?? "";
  document.querySelector("[name=comment]").focus();
  history.replaceState(null, "", location.pathname);
}
