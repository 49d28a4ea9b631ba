import {
  keepPreviousData,
  QueryClient,
  useQueries,
  useQuery,
  type Query,
  type UseQueryResult,
} from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { fetchJson, type ApiError } from "./client";
import { isPacked } from "./packs";
import type * as api from "./types";
import type { FirstReading, Index } from "./types";

declare module "@tanstack/react-query" {
  interface Register {
    defaultError: ApiError;
  }
}

const POLL = 3000; // ms between two looks at the store's version
const POLL_READING = 300; // ms between two looks at how far a server is with reading its store

/** Answers are kept under their path until the store's version changes; requests that nobody waits for are aborted. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      queryFn: ({ queryKey, signal }) => fetchJson(String(queryKey[0]), signal),
      networkMode: "always", // a server on this machine answers without a network
      staleTime: Infinity,
      retry: (failures, error) => error.kind === "offline" && failures < 2,
      retryDelay: (failures) => 300 * 2 ** failures,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
    },
  },
});

/** Milliseconds until *value* is asked for again; false: it does not change by itself. */
type Poll<T> = (value: T) => number | false;

/** The answer at *path*; null: nothing is asked for. With *poll*, asked for again and again while the page is seen. */
export function useApi<T>(path: ApiPath<T> | null, poll: Poll<T> = () => false): UseQueryResult<T> {
  const interval = ({ state }: { state: { data: T | undefined } }) =>
    state.data === undefined ? false : poll(state.data);
  return useQuery<T>({
    queryKey: [path],
    enabled: path !== null,
    refetchInterval: interval,
    refetchOnWindowFocus: (query) => (interval(query) === false ? false : "always"),
  });
}

/** The answers at *paths*, as far as they are there. */
export function useApis<T>(paths: readonly ApiPath<T>[]): readonly (T | undefined)[] {
  return useQueries({ queries: paths.map((path) => ({ queryKey: [path] })) }).map(({ data }) => data as T | undefined);
}

/** The answer at *path*, kept or fetched, as part of another query. */
function readApi<T>(path: ApiPath<T>): Promise<T> {
  return queryClient.fetchQuery<T>({ queryKey: [path] });
}

/** What a search finds; while the next letter is looked up, what was found stays. */
export function useSearch(asked: Readonly<Record<string, string>>): UseQueryResult<api.Search> {
  return useQuery<api.Search>({ queryKey: [endpoints.search(asked)], placeholderData: keepPreviousData });
}

const TRIES = 3; // at the parts of a board, in which the store may change

/** All rows of a board that a server parts. */
async function wholeBoard(board: string): Promise<api.Board> {
  for (let left = TRIES; ; left -= 1) {
    const begun = await readApi(endpoints.boardPart(board));
    const numbers = Array.from({ length: begun.parts }, (_, number) => number + 1);
    const rest = await Promise.all(numbers.map((number) => readApi(endpoints.boardRows(board, number))));
    if (left === 1 || rest.every(({ version }) => version === begun.version))
      return {
        ...begun,
        parts: 0,
        rows: [begun, ...rest].flatMap(({ rows }) => rows),
        names: Object.assign({}, ...[begun, ...rest].map(({ names }) => names)) as api.Board["names"],
      };
    const parts = [endpoints.boardPart(board), ...numbers.map((number) => endpoints.boardRows(board, number))];
    await Promise.all(parts.map((path) => queryClient.invalidateQueries({ queryKey: [path], refetchType: "none" })));
  }
}

/** A board: as it is frozen, with its first rows, or, of a server that parts it, with *whole* all of its rows. */
export function useBoard(board: string, frozen: boolean, whole = false): UseQueryResult<api.Board> {
  const first = useApi(frozen ? endpoints.board(board) : endpoints.boardPart(board));
  const parts = first.data?.parts ?? 0;
  const every = useQuery<api.Board>({
    queryKey: [endpoints.board(board), "in parts"],
    enabled: whole && parts > 0,
    queryFn: () => wholeBoard(board),
  });
  return whole && parts > 0 ? every : first;
}

/** What the store holds, polled unless the site is static. A new version renews every other answer. */
export function useIndex(): UseQueryResult<Index> {
  const index = useApi(endpoints.index, ({ offer }) => (offer.frozen ? false : POLL));
  const version = index.data?.version;
  const previous = useRef(version);
  useEffect(() => {
    if (previous.current !== undefined && previous.current !== version) {
      const predicate = (query: Query) => query.queryKey[0] !== endpoints.index;
      queryClient.removeQueries({ type: "inactive", predicate });
      void queryClient.invalidateQueries({ predicate });
    }
    previous.current = version;
  }, [version]);
  return index;
}

/** How far a server is with reading its store, while all else waits for it; nothing where no server reads one. */
export function useFirstReading(): FirstReading | undefined {
  const path = isPacked() ? null : endpoints.reading;
  return useApi(path, ({ share }) => (share === null ? false : POLL_READING)).data;
}

/** The path of a JSON answer of type *T*, relative to the page: the same on the server and in a static site. */
type ApiPath<T> = string & { readonly answer?: T };

/** Where each answer is. */
export const endpoints = {
  index: "api/index.json" as ApiPath<api.Index>,
  reading: "api/reading.json" as ApiPath<api.FirstReading>,
  board: (board: string): ApiPath<api.Board> => `api/boards/${id(board)}.json`,
  boardPart: (board: string): ApiPath<api.Board> => `api/boards/${id(board)}/part/0.json`,
  boardRows: (board: string, part: number): ApiPath<api.BoardPart> => `api/boards/${id(board)}/part/${part}.json`,
  subject: (board: string, subject: string): ApiPath<api.Subject> =>
    `api/boards/${id(board)}/subjects/${id(subject)}.json`,
  scenario: (board: string, scenario: string): ApiPath<api.Scenario> =>
    `api/boards/${id(board)}/scenarios/${id(scenario)}.json`,
  /** Twenty answers of one group, or of each; the first twenty are number 0. */
  scenarioPart: (board: string, scenario: string, group: string, number: number): ApiPath<api.Scenario> =>
    `api/boards/${id(board)}/scenarios/${id(scenario)}/part/${id(group)}/${number}.json`,
  scenariosCsv: (board: string) => `api/boards/${id(board)}/scenarios.csv`,
  persona: (board: string): ApiPath<api.Persona> => `api/boards/${id(board)}/persona.json`,
  compare: (board: string, subject: string): ApiPath<api.Comparisons> =>
    `api/boards/${id(board)}/compare/${id(subject)}.json`,
  comparePair: (board: string, first: string, second: string): ApiPath<api.Comparisons> =>
    `api/boards/${id(board)}/compare/${id(first)}/${id(second)}.json`,
  versions: (board: string, protocol: string): ApiPath<api.Versions> =>
    `api/boards/${id(board)}/versions/${id(protocol)}.json`,
  judges: (protocol: string): ApiPath<api.Judges> => `api/judges/${id(protocol)}.json`,
  exam: "api/exam.json" as ApiPath<api.Exam>,
  examQuestions: (rubric: string): ApiPath<api.ExamQuestions> => `api/exam/${id(rubric)}.json`,
  transcript: (transcript: string): ApiPath<api.Transcript> => `api/transcripts/${id(transcript)}.json`,
  raw: (transcript: string): ApiPath<api.Raw> => `api/raw/${id(transcript)}.json`,
  labelling: "api/label/state.json" as ApiPath<api.Labelling>,
  labelAgreement: "api/label/agreement.json" as ApiPath<api.LabelAgreement>,
  search: (asked: Readonly<Record<string, string>>): ApiPath<api.Search> =>
    `api/search.json?${new URLSearchParams(asked).toString()}`,
};

/** The same answer as a table. */
export function csvOf(path: string): string {
  return path.replace(/\.json$/, ".csv");
}

/** An id out of the address: what cannot be one (dots, slashes) leads nowhere instead of somewhere else. */
function id(text: string): string {
  return /^[a-z0-9-]{1,80}$/.test(text) ? text : "no-such-id";
}
