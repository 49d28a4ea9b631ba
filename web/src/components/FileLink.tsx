import { useState, type MouseEvent, type ReactNode } from "react";
import { keptToken } from "../api/access";
import { download, fileUrl, type ApiError } from "../api/client";

/** A file to download. A link cannot send the viewer's token: where there is one, the page fetches the file itself. */
export function FileLink({ path, name, children }: { path: string; name: string; children: ReactNode }) {
  const [problem, setProblem] = useState("");
  const save = (event: MouseEvent) => {
    if (!keptToken()) return;
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
