import { Component, type ReactNode } from "react";
import { Failed } from "./states";

/** A page that breaks takes nothing else with it: what is around it stays, and says what to do. */
export class Caught extends Component<{ at: string; children: ReactNode }, { broken: string | null; at: string }> {
  override state = { broken: null, at: this.props.at };

  static getDerivedStateFromError(error: unknown) {
    return { broken: error instanceof Error ? error.message : String(error) };
  }

  static getDerivedStateFromProps({ at }: { at: string }, state: { broken: string | null; at: string }) {
    return at === state.at ? null : { broken: null, at };
  }

  override render() {
    const { broken } = this.state;
    if (broken === null) return this.props.children;
    const failure = {
      kind: "broken" as const,
      what: "This page cannot be shown.",
      next: `Reload it: the viewer may be newer or older than what it reads. (${String(broken)})`,
    };
    return (
      <Failed
        failure={failure}
        again={() => {
          window.location.reload();
        }}
      />
    );
  }
}
