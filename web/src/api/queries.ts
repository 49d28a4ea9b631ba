import { QueryClient, useQueries, useQuery, type Query, type UseQueryResult } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { fetchJson, type ApiError } from "./client";
import { endpoints, type ApiPath } from "./endpoints";
import type { Index } from "./types";

declare module "@tanstack/react-query" {
  interface Register {
    defaultError: ApiError;
  }
}

const POLL = 3000; // ms between two looks at the store's version

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

/** The answer at *path*, kept or fetched, as part of another query whose signal is *signal*. */
export async function readApi<T>(path: ApiPath<T>, signal: AbortSignal): Promise<T> {
  const kept = queryClient.getQueryData<T>([path]);
  if (kept !== undefined) return kept;
  const value = (await fetchJson(path, signal)) as T;
  queryClient.setQueryData([path], value);
  return value;
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
