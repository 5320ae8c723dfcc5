/* The list of slash commands: a list box that the message field works from the keyboard. */

const field = document.getElementById("text");
const list = document.getElementById("slash-commands");
const announce = document.getElementById("announce");
const options = [...list.querySelectorAll("[role=option]")];

let shown = [];
let chosen = -1;
let dismissed = "";

function choose(index) {
  chosen = index;
  for (const option of options) option.setAttribute("aria-selected", String(option === shown[index]));
  if (shown[index]) {
    field.setAttribute("aria-activedescendant", shown[index].id);
    shown[index].scrollIntoView({ block: "nearest" });
  } else {
    field.removeAttribute("aria-activedescendant");
  }
}

function close() {
  list.hidden = true;
  choose(-1);
}

function update() {
  const typed = field.value.toLowerCase();
  const asks = /^\/\S*$/.test(typed) && typed !== dismissed;
  if (!asks) {
    if (typed !== dismissed) dismissed = "";
    return close();
  }
  shown = options.filter((option) => option.dataset.name.startsWith(typed));
  for (const option of options) option.hidden = !shown.includes(option);
  if (shown.length === 0) return close();
  const opens = list.hidden;
  list.hidden = false;
  choose(0);
  const count = shown.length === 1 ? "1 command" : `${shown.length} commands`;
  if (opens) announce.textContent = `${count}. Arrow keys choose, Tab fills in.`;
}

function take(option) {
  field.value = option.dataset.argument ? `${option.dataset.name} ` : option.dataset.name;
  dismissed = field.value;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  close();
  field.focus();
}

field.addEventListener("input", update);
field.addEventListener("blur", close);
field.addEventListener("keydown", (event) => {
  if (list.hidden || event.isComposing) return;
  const option = shown[chosen];
  if (event.key === "ArrowDown") choose((chosen + 1) % shown.length);
  else if (event.key === "ArrowUp") choose((chosen + shown.length - 1) % shown.length);
  else if (event.key === "Escape") { dismissed = field.value.toLowerCase(); close(); }
  else if (event.key === "Tab" && !event.shiftKey) take(option);
  else if (event.key === "Enter" && !event.shiftKey && field.value.toLowerCase() !== option.dataset.name) take(option);
  else return;
  event.preventDefault();
});
// The press must not take the focus from the field before it counts.
list.addEventListener("pointerdown", (event) => event.preventDefault());
list.addEventListener("click", (event) => {
  const option = event.target.closest("[role=option]");
  if (option) take(option);
});
list.addEventListener("pointermove", (event) => {
  const index = shown.indexOf(event.target.closest("[role=option]"));
  if (index >= 0 && index !== chosen) choose(index);
});
