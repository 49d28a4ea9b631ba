import type { ReactNode } from "react";

interface Props {
  first: string;
  numbers: readonly (readonly [title: string, hint?: string])[];
  children?: ReactNode; // headings of what comes after the numbers
}

/** The head of a table that has a name, then numbers in each row. */
export function Headings({ first, numbers, children }: Props) {
  return (
    <thead>
      <tr>
        <th scope="col">{first}</th>
        {numbers.map(([title, hint]) => (
          <th key={title} scope="col" className="num" title={hint}>
            {title}
          </th>
        ))}
        {children}
      </tr>
    </thead>
  );
}
