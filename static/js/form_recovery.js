/* Fill a form in again after its session had ended or another workspace was chosen.

   When a form is sent, its fields are kept for this tab, but no passwords, keys or files. The page
   that says that nothing was stored marks them as lost. The form's own page then fills them in
   again, once. Any other page deletes them. */

const KEY = "jenny-form";
const MOST = 500_000;
const account = document.body.dataset.account ?? "";
const workspace = document.body.dataset.workspace ?? "";
const SECRET = /pass|secret|token|key|code|csrf/i;

const stored = () => {
  try {
    return JSON.parse(sessionStorage.getItem(KEY) ?? "null");
  } catch {
    return null;
  }
};

const forget = () => {
  try {
    sessionStorage.removeItem(KEY);
  } catch {
    /* Storage may be switched off; then nothing was noted. */
  }
};

function put(note) {
  try {
    const text = JSON.stringify(note);
    if (text.length <= MOST) sessionStorage.setItem(KEY, text);
  } catch {
    forget();
  }
}

function isKept(field) {
  if (!field.name || field.disabled || field.readOnly) return false;
  if (["password", "file", "hidden", "submit", "button", "image", "reset"].includes(field.type)) return false;
  if (/password|one-time-code/.test(field.autocomplete ?? "")) return false;
  return !SECRET.test(field.name);
}

function place(form) {
  const url = new URL(form.action, location.href);
  return url.pathname;
}

function read(form) {
  const fields = [];
  for (const field of form.elements) {
    if (!isKept(field)) continue;
    if (field.type === "checkbox" || field.type === "radio") fields.push([field.name, field.value, field.checked]);
    else if (field.type === "select-multiple") fields.push([field.name, [...field.selectedOptions].map((one) => one.value), null]);
    else fields.push([field.name, field.value, null]);
  }
  return fields;
}

function fill(form, fields) {
  const seen = new Map();
  for (const [name, value, checked] of fields) {
    const same = [...form.elements].filter((field) => field.name === name && isKept(field));
    if (checked !== null) {
      const box = same.find((field) => field.value === value);
      if (box) box.checked = checked;
      continue;
    }
    const at = seen.get(name) ?? 0;
    seen.set(name, at + 1);
    const field = same[at];
    if (!field) continue;
    if (Array.isArray(value)) for (const option of field.options) option.selected = value.includes(option.value);
    else field.value = value;
    const isOther = field.options ? [...field.options].some((option) => option.selected !== option.defaultSelected) : field.value !== field.defaultValue;
    if (isOther) field.closest("details")?.setAttribute("open", "");
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

function tell(form, note) {
  const said = document.createElement("p");
  said.className = "kept-form";
  said.setAttribute("role", "status");
  const parts = ["Nothing was stored before: your session had ended, or another workspace was chosen.", "What you had typed is filled in again; send it once more."];
  if (note.files) parts.push("Choose the file again.");
  if (note.secrets) parts.push("Passwords and keys were not kept.");
  said.textContent = parts.join(" ");
  form.prepend(said);
  for (const box of [form, ...form.querySelectorAll("details")]) {
    const details = box.closest("details");
    if (details) details.open = true;
  }
  said.scrollIntoView({ block: "nearest" });
}

document.addEventListener(
  "submit",
  (event) => {
    const form = event.target;
    const method = (event.submitter?.formMethod || form.method || "").toLowerCase();
    const isPost = method === "post" || form.hasAttribute("hx-post");
    // The composer and the editor keep their texts themselves; the login has none to keep.
    if (!isPost || form.matches("[data-kept]")) return;
    const fields = read(form);
    const files = [...form.elements].some((field) => field.type === "file" && field.files?.length);
    const secrets = [...form.elements].some((field) => field.type === "password" && field.value);
    if (!fields.length && !files && !secrets) return forget();
    put({ account, workspace, page: location.pathname, form: place(form), fields, files, secrets, lost: false });
  },
  true,
);

const note = stored();
if (note) {
  if (document.querySelector("[data-nothing-stored]")) {
    put({ ...note, lost: true });
  } else if (account && note.account !== account) {
    // Somebody else is in by now.
    forget();
  } else if (note.lost && note.page === location.pathname && note.workspace === workspace) {
    forget();
    const form = [...document.forms].find((one) => place(one) === note.form);
    if (form) {
      fill(form, note.fields);
      tell(form, note);
    }
  } else if (!note.lost) {
    forget();
  }
}
