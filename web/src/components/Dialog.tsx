import { useEffect, useRef, type ReactNode } from "react";
import { Button } from "./fields";

/** The browser's own dialog: it keeps the focus inside, Escape closes it, and the focus goes back. */
export function Dialog({ title, close, children }: { title: string; close: () => void; children: ReactNode }) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (!ref.current?.open) ref.current?.showModal();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-label={title}
      onClose={close}
      onClick={(event) => {
        if (event.target === ref.current) close();
      }}
      className="m-auto w-[min(34rem,calc(100vw-2rem))] rounded-xl border border-line bg-raised p-0 text-ink backdrop:bg-black/40"
    >
      <div className="p-5">
        <div className="mb-3 flex items-center justify-between gap-4">
          <h2>{title}</h2>
          <Button onClick={close}>Close</Button>
        </div>
        {children}
      </div>
    </dialog>
  );
}
