import { stored, store } from "./storage";

export type Theme = "" | "light" | "dark"; // "": as the system has it

const systemIsDark = window.matchMedia("(prefers-color-scheme: dark)");

export function chosenTheme(): Theme {
  const theme = stored("theme");
  return theme === "light" || theme === "dark" ? theme : "";
}

export function chooseTheme(theme: Theme): void {
  store("theme", theme);
  applyTheme();
}

/** Sets the page's colours; called at the start and whenever the system's setting changes. */
export function applyTheme(): void {
  document.documentElement.dataset["theme"] = chosenTheme() || (systemIsDark.matches ? "dark" : "light");
}

systemIsDark.addEventListener("change", applyTheme);
