import { stored, store } from "./useKeys";

export type Theme = "" | "light" | "dark"; // "": as the reader's system has it

const night = window.matchMedia("(prefers-color-scheme: dark)");

export function chosenTheme(): Theme {
  const said = stored("theme");
  return said === "light" || said === "dark" ? said : "";
}

export function chooseTheme(theme: Theme): void {
  store("theme", theme);
  showTheme();
}

/** Puts the theme on the page; called once at the start and whenever the system changes its mind. */
export function showTheme(): void {
  document.documentElement.dataset["theme"] = chosenTheme() || (night.matches ? "dark" : "light");
}

night.addEventListener("change", showTheme);
