"use strict";
const form = document.getElementById("filter");
const sessions = [...document.querySelectorAll("article")];
function show() {
  const words = form.words.value.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const session of sessions) {
    const kinds = session.dataset.kinds.split(" ");
    const text = words.length ? session.textContent.toLowerCase() : "";
    const fits = (!form.which.value || kinds.includes(form.which.value))
      && words.every((word) => text.includes(word));
    session.hidden = !fits;
    shown += fits;
  }
  form.querySelector("output").value = `${shown} of ${sessions.length}`;
}
form.addEventListener("input", show);
form.addEventListener("submit", (event) => event.preventDefault());
form.hidden = false;
show();
