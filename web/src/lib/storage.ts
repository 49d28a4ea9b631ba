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
