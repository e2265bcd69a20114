"use strict";
// Adds a button to each block of commands that copies it, where the browser lets a page do so.
for (const block of navigator.clipboard ? document.querySelectorAll("pre") : []) {
  const button = document.createElement("button");
  const name = (text) => (button.textContent = text);
  button.className = "copy";
  name("Copy");
  button.addEventListener("click", () => navigator.clipboard.writeText(block.textContent).then(() => name("Copied"), () => name("Not allowed")));
  button.addEventListener("blur", () => name("Copy"));
  block.before(button);
}
