/** What this browser remembers under *name*; "" where it may not. */
export function stored(name: string): string {
  try {
    return window.localStorage.getItem(`aib.${name}`) ?? "";
  } catch {
    return "";
  }
}

/** Remember *value*, where the browser may; "" forgets it. */
export function store(name: string, value: string): void {
  try {
    if (value) window.localStorage.setItem(`aib.${name}`, value);
    else window.localStorage.removeItem(`aib.${name}`);
  } catch {
    // everything works without
  }
}

export type Theme = "" | "light" | "dark"; // "": as the system has it

/** Whether the system is dark; it says when that changes. */
export const systemIsDark = () => window.matchMedia("(prefers-color-scheme: dark)");

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
  document.documentElement.dataset["theme"] = chosenTheme() || (systemIsDark().matches ? "dark" : "light");
}
