import type { UseQueryResult } from "@tanstack/react-query";
import { Component, type ReactNode } from "react";
import type { ApiError } from "../api/client";
import { CodeText } from "./labels";
import { Button } from "./fields";

/** Says what is being read, to screen readers too, and moves nothing else. */
export function Loading({ what }: { what: string }) {
  return (
    <p role="status" className="appear py-10 text-center text-soft">
      Reading {what} …
    </p>
  );
}

const STEPS = 4; // of which a screen reader is told

/** How much of *what* is done: a *share* in [0, 1], *shown* as text. */
export function LoadingShare({ what, share, shown }: { what: string; share: number; shown: string }) {
  return (
    <>
      <p role="status" className="sr-only">
        {what}: {(100 * Math.floor(share * STEPS)) / STEPS}%
      </p>
      <p className="flex items-baseline justify-between gap-4 text-lg" aria-hidden="true">
        <span>{what} …</span>
        <span className="num text-accent">{shown}</span>
      </p>
      <progress className="share mt-2" aria-label={what} max={1} value={share} />
    </>
  );
}

/** There is nothing to show; *children* say what to do about it. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="panel mx-auto my-8 max-w-[min(36rem,calc(100vw-2rem))] p-6 text-center">
      <p className="text-lg">{title}</p>
      {children ? (
        <div className="mt-2 text-soft">{typeof children === "string" ? <CodeText text={children} /> : children}</div>
      ) : null}
    </div>
  );
}

/** What went wrong, and what can be done. */
function ErrorMessage({ what, next, retry }: { what: string; next: string; retry?: () => unknown }) {
  return (
    <div role="alert" className="panel mx-auto my-8 max-w-[min(36rem,calc(100vw-2rem))] border-bad p-6">
      <p className="text-lg text-bad">{what}</p>
      <p className="mt-1 text-soft">
        <CodeText text={next} />
      </p>
      {retry ? (
        <Button className="mt-4" onClick={() => void retry()}>
          Try again
        </Button>
      ) : null}
    </div>
  );
}

interface AwaitProps<T> {
  query: UseQueryResult<T, ApiError>;
  what: string; // is being read
  waiting?: ReactNode; // where there is more to be said of that
  explain?: (error: ApiError) => { what?: string; next: string }; // where this page knows more about an error
  children: (value: T) => ReactNode;
}

/** The answer of *query*, as soon as it is there; what was read stays while a newer version is asked for. */
export function Await<T>({ query, what, waiting, explain, children }: AwaitProps<T>) {
  if (query.data !== undefined) return children(query.data);
  if (!query.error) return waiting ?? <Loading what={what} />;
  const { message, next } = query.error;
  return <ErrorMessage what={message} next={next} {...explain?.(query.error)} retry={query.refetch} />;
}

interface State {
  error: string | null;
  resetKey: string;
}

/** Shows an error that its page throws, and leaves everything around it as it is. Another *resetKey* begins anew. */
export class ErrorBoundary extends Component<{ resetKey: string; children: ReactNode }, State> {
  override state: State = { error: null, resetKey: this.props.resetKey };

  static getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error.message : String(error) };
  }

  static getDerivedStateFromProps({ resetKey }: { resetKey: string }, state: State) {
    return resetKey === state.resetKey ? null : { error: null, resetKey };
  }

  override render() {
    const { error } = this.state;
    if (error === null) return this.props.children;
    return (
      <ErrorMessage
        what="This page cannot be shown."
        next={`Reload it: the viewer may be newer or older than what it reads. (${error})`}
        retry={() => window.location.reload()}
      />
    );
  }
}
