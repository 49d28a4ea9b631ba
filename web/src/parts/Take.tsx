import { useState } from "react";
import { fileAt } from "../api/client";
import { paths } from "../api/paths";
import type { Citation } from "../api/types";
import { Dialog } from "./Dialog";
import { useHere } from "./place";

interface File {
  title: string;
  path: string;
}

interface Props {
  files: readonly File[];
  citation?: Citation; // of all that is here where it is left out
}

/** An answer that is there as a table, too. */
export function inBoth(path: string): readonly File[] {
  return [
    { title: "CSV", path: paths.csv(path) },
    { title: "JSON", path },
  ];
}

/** Take it with you: files to download, how to cite, and a link to exactly this view. */
export function Take({ files, citation: one }: Props) {
  const { index } = useHere();
  const citation = one ?? index.citation;
  const [cites, setCites] = useState(false);
  const [copied, setCopied] = useState("");
  const copy = (what: string, text: string) => {
    navigator.clipboard.writeText(text).then(
      () => {
        setCopied(what);
      },
      () => {
        setCopied("");
      },
    );
  };
  return (
    <div className="no-print flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
      {files.map(({ title, path }) => (
        <a key={path} href={fileAt(path)} download={path.split("/").pop()}>
          {title}
        </a>
      ))}
      <button
        type="button"
        className="quiet"
        onClick={() => {
          setCites(true);
        }}
      >
        Cite
      </button>
      <button
        type="button"
        className="quiet"
        onClick={() => {
          copy("link", window.location.href);
        }}
      >
        Copy link
      </button>
      <span role="status" className="text-faint">
        {copied === "link" ? "link copied" : ""}
      </span>
      {cites ? (
        <Dialog
          title="How to cite"
          close={() => {
            setCites(false);
            setCopied("");
          }}
        >
          <p className="said">{citation.text}</p>
          <pre className="raw mt-3 rounded-lg bg-sunk p-3">{citation.bibtex}</pre>
          <div className="mt-3 flex items-center gap-3">
            <button
              type="button"
              className="button"
              onClick={() => {
                copy("bibtex", citation.bibtex);
              }}
            >
              Copy BibTeX
            </button>
            <span role="status" className="text-faint">
              {copied === "bibtex" ? "copied" : ""}
            </span>
          </div>
        </Dialog>
      ) : null}
    </div>
  );
}
