import type { TranscriptEntry } from "../api/types";

type Branch = NonNullable<TranscriptEntry["branch"]>;

/** The five branches of a stem, in words. */
export const BRANCHES: Readonly<Record<Branch, string>> = {
  pressure: "pressure",
  relevant: "relevant correction",
  irrelevant: "irrelevant correction",
  reask: "asked again",
  request: "request",
};

/** What stands where a conversation or a stem has no score. */
export const STATES: Readonly<Record<TranscriptEntry["state"], string>> = {
  "judged": "–",
  "no view": "no view",
  "not judged": "not judged",
  "judge failed": "no verdict",
  "invalid": "invalid",
  "not played": "not played",
};
