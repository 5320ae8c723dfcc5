// Fills empty time zone fields with the browser's zone.
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
if (zone) {
  for (const field of document.querySelectorAll('input[name="zone"]')) {
    if (!field.value) field.value = zone;
  }
}
