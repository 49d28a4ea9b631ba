import { useState } from "react";
import { endpoints, useApi } from "../../api/queries";
import type { LabelAgreement } from "../../api/types";
import { DataTable, type Column } from "../../components/tables";
import { Await } from "../../components/status";
import { usePage } from "../../hooks/usePage";
import { route } from "../../routes";
import { Button } from "../../components/fields";

type Pair = LabelAgreement["pairs"][number];

/** How far the judges agree with *person*; not shown before it is asked for, so that nobody marks by it. */
export function Agreement({ person }: { person: string }) {
  const [asked, setAsked] = useState(false);
  if (!asked)
    return (
      <Button className="mt-6" onClick={() => setAsked(true)}>
        How far do the judges agree with me?
      </Button>
    );
  return <Pairs person={person} />;
}

function Pairs({ person }: { person: string }) {
  const { href } = usePage();
  const agreement = useApi(endpoints.labelAgreement);
  const columns: Column<Pair>[] = [
    {
      id: "judge",
      title: "Judge",
      rowHeader: true,
      cell: (row) => <bdi className="label">{row.one === person ? row.other : row.one}</bdi>,
    },
    { id: "conversations", title: "Marked by both", numeric: true, cell: (row) => row.conversations },
    {
      id: "kappa",
      title: "κ",
      numeric: true,
      hint: "mean over marks; from ten conversations on",
      cell: (row) => row.shown.kappa ?? "–",
    },
  ];
  return (
    <section aria-label="Agreement" className="mt-6">
      <h2>Agreement with the judges</h2>
      <p className="mb-2 text-soft">
        By the marks that are stored; the last one is stored when the next is kept, or the viewer ends. More is on the
        page of the <a href={href(route("judges"))}>judges</a>.
      </p>
      <Await query={agreement} what="the judges">
        {({ pairs }) =>
          pairs.length ? (
            <DataTable
              rows={pairs}
              columns={columns}
              rowKey={(row) => `${row.one} ${row.other}`}
              caption="Agreement"
              className=""
            />
          ) : (
            <p>Nothing that you have marked is stored yet, or no other judge has marked it.</p>
          )
        }
      </Await>
    </section>
  );
}
