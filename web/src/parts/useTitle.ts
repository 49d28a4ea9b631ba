import { useEffect } from "react";

/** The browser's title, so that tabs and bookmarks can be told apart. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title.slice(0, 120)} · AI Independence Bench`;
  }, [title]);
}
