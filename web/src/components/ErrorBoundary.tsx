import { Component, type ReactNode } from "react";
import { ErrorMessage } from "./status";

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
