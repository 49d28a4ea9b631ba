import type { Transcript } from "../../api/types";
import type { AddressOf } from "../../routes";

/** What the parts of the page of a conversation are given. */
export interface TranscriptProps {
  transcript: Transcript;
  address: AddressOf<"transcript">;
}
