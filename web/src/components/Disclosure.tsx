import { useState, type ReactNode } from "react";

interface Props {
  title: ReactNode;
  note?: ReactNode;
  open?: boolean;
  className?: string;
  children: ReactNode;
  onToggle?: (open: boolean) => void;
}

/** Folded content, drawn only once it was opened: pages stay light. */
export function Disclosure({ title, note, open = false, className = "", children, onToggle }: Props) {
  const [opened, setOpened] = useState(open);
  return (
    <details
      open={open}
      className={`group ${className}`}
      onToggle={({ currentTarget }) => {
        if (currentTarget.open) setOpened(true);
        onToggle?.(currentTarget.open);
      }}
    >
      <summary className="flex flex-wrap items-baseline gap-x-2 rounded py-0.5">
        <span aria-hidden="true" className="inline-block w-3 text-faint transition-transform group-open:rotate-90">
          ›
        </span>
        <span>{title}</span>
        {note ? <span className="eyebrow">{note}</span> : null}
      </summary>
      {opened ? <div className="pt-1.5 pb-1 pl-5">{children}</div> : null}
    </details>
  );
}
