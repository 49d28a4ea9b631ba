import { useEffect } from "react";

/** Sets the browser's title. */
export function useDocumentTitle(title: string): void {
  useEffect(() => {
    document.title = `${title.slice(0, 120)} · AI Independence Bench`;
  }, [title]);
}
