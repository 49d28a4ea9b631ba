import type { ReactNode } from "react";
import type { Failure } from "../api/client";

/** While something is on its way. Says so to screen readers, and shows nothing that jumps. */
export function Loading({ what }: { what: string }) {
  return (
    <p role="status" className="arrive py-10 text-center text-soft">
      Reading {what} …
    </p>
  );
}

/** Nothing here, and what to do about it. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="panel mx-auto my-8 max-w-xl p-6 text-center">
      <p className="text-lg">{title}</p>
      {children ? <div className="mt-2 text-soft">{children}</div> : null}
    </div>
  );
}

/** What went wrong, in plain words, with the next step. */
export function Failed({ failure, again }: { failure: Failure; again?: () => void }) {
  return (
    <div role="alert" className="panel mx-auto my-8 max-w-xl border-bad p-6">
      <p className="text-lg text-bad">{failure.what}</p>
      <p className="mt-1 text-soft">{failure.next}</p>
      {again ? (
        <button type="button" className="button mt-4" onClick={again}>
          Try again
        </button>
      ) : null}
    </div>
  );
}
