// Fields that Django's own scripts and widgets leave without a name get the one that stands beside them.
"use strict";
const giveNames = () => {
  const words = field => {
    const row = field.closest(".form-row, .fieldBox, td");
    return row?.querySelector("label, legend")?.textContent.replace(/[:\s]+$/, "").trim() || "";
  };
  document.querySelectorAll(".select2-selection").forEach(shown => {
    const label = document.querySelector(`label[for="${shown.closest(".select2").previousElementSibling?.id}"]`);
    if (!label) return;
    label.id ||= `${label.htmlFor}_label`;
    const value = shown.querySelector(".select2-selection__rendered");
    shown.setAttribute("aria-labelledby", `${label.id} ${value?.id || ""}`.trim());
    value?.setAttribute("aria-labelledby", label.id);
  });
  document.querySelector("#searchbar")?.setAttribute("aria-label", "Search");
  document.querySelectorAll(".vDateField, .vTimeField").forEach(field => {
    if (!field.labels.length) field.setAttribute("aria-label", `${words(field)}, ${field.matches(".vDateField") ? "date" : "time"}`);
  });
};
addEventListener("load", giveNames);
// The boxes that search as one types are made when jQuery says so, which may be later.
window.django?.jQuery?.(giveNames);
