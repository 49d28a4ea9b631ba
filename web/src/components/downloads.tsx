import { useState, type MouseEvent, type ReactNode } from "react";
import { csvOf } from "../api/queries";
import type { Citation } from "../api/types";
import { usePage } from "../hooks/usePage";
import { Dialog } from "./Dialog";
import { keptToken } from "../api/access";
import { download, fileUrl, type ApiError } from "../api/client";
import { isPacked } from "../api/packs";
import { Button } from "./fields";

interface File {
  title: string;
  path: string;
}

/** An answer that is there as a table, too. */
export function csvAndJson(path: string): readonly File[] {
  return [
    { title: "CSV", path: csvOf(path) },
    { title: "JSON", path },
  ];
}

interface Props {
  files: readonly File[];
  citation?: Citation; // without it, that of the whole store
}

/** Files to download, how to cite, and a link to exactly this view. */
export function Downloads({ files, citation }: Props) {
  const { index } = usePage();
  const [citing, setCiting] = useState(false);
  const [copied, setCopied] = useState("");
  const { text, bibtex } = citation ?? index.citation;
  const copy = (what: string, value: string) => {
    navigator.clipboard.writeText(value).then(
      () => setCopied(what),
      () => setCopied(""),
    );
  };
  return (
    <div className="no-print flex flex-wrap items-center gap-x-3 gap-y-1 text-sm">
      {files.map(({ title, path }) => (
        <FileLink key={path} path={path} name={path.split("/").pop() ?? ""}>
          {title}
        </FileLink>
      ))}
      <button type="button" className="link-button" onClick={() => setCiting(true)}>
        Cite
      </button>
      <button type="button" className="link-button" onClick={() => copy("link", window.location.href)}>
        Copy link
      </button>
      <span role="status" className="text-faint">
        {copied === "link" ? "link copied" : ""}
      </span>
      {citing ? (
        <Dialog
          title="How to cite"
          close={() => {
            setCiting(false);
            setCopied("");
          }}
        >
          <p className="prose-text">{text}</p>
          <pre className="raw mt-3 rounded-lg bg-sunk p-3">{bibtex}</pre>
          <div className="mt-3 flex items-center gap-3">
            <Button onClick={() => copy("bibtex", bibtex)}>Copy BibTeX</Button>
            <span role="status" className="text-faint">
              {copied === "bibtex" ? "copied" : ""}
            </span>
          </div>
        </Dialog>
      ) : null}
    </div>
  );
}

/** A file to download. A link can send no token and open no pack: where there is one, the page fetches the file. */
export function FileLink({ path, name, children }: { path: string; name: string; children: ReactNode }) {
  const [problem, setProblem] = useState("");
  const save = (event: MouseEvent) => {
    if (!keptToken() && !isPacked()) return;
    event.preventDefault();
    download(path, name).then(
      () => setProblem(""),
      ({ message, next }: ApiError) => setProblem(`${message} ${next}`),
    );
  };
  return (
    <>
      <a href={fileUrl(path)} download={name} onClick={save}>
        {children}
      </a>
      {problem ? (
        <span role="alert" className="text-bad">
          {problem}
        </span>
      ) : null}
    </>
  );
}
