import type * as api from "./types";

/** The path of a JSON answer of type *T*, relative to the page: the same on the server and in a static site. */
export type ApiPath<T> = string & { readonly answer?: T };

/** Where each answer is. */
export const endpoints = {
  index: "api/index.json" as ApiPath<api.Index>,
  methods: "api/methods.json" as ApiPath<api.Methods>,
  board: (board: string): ApiPath<api.Board> => `api/boards/${id(board)}.json`,
  subject: (board: string, subject: string): ApiPath<api.Subject> =>
    `api/boards/${id(board)}/subjects/${id(subject)}.json`,
  scenario: (board: string, scenario: string): ApiPath<api.Scenario> =>
    `api/boards/${id(board)}/scenarios/${id(scenario)}.json`,
  scenariosCsv: (board: string) => `api/boards/${id(board)}/scenarios.csv`,
  names: (board: string): ApiPath<api.Names> => `api/boards/${id(board)}/names.json`,
  compare: (board: string, subject: string): ApiPath<api.Comparisons> =>
    `api/boards/${id(board)}/compare/${id(subject)}.json`,
  settings: (series: string, subject: string): ApiPath<api.SubjectSettings> =>
    `api/settings/${id(series)}/${id(subject)}.json`,
  versions: (board: string, protocol: string): ApiPath<api.Versions> =>
    `api/boards/${id(board)}/versions/${id(protocol)}.json`,
  judges: (protocol: string): ApiPath<api.Judges> => `api/judges/${id(protocol)}.json`,
  exam: "api/exam.json" as ApiPath<api.Exam>,
  examQuestions: (rubric: string): ApiPath<api.ExamQuestions> => `api/exam/${id(rubric)}.json`,
  transcript: (transcript: string): ApiPath<api.Transcript> => `api/transcripts/${id(transcript)}.json`,
  raw: (transcript: string): ApiPath<api.Raw> => `api/raw/${id(transcript)}.json`,
  labelling: "api/label/state.json" as ApiPath<api.Labelling>,
  labelAgreement: "api/label/agreement.json" as ApiPath<api.LabelAgreement>,
  search: "api/search/index.json" as ApiPath<api.SearchHead>,
  searchWords: (build: string, of: "said" | "judged", shard: number): ApiPath<api.SearchWords> =>
    `api/search/${id(build)}/${of}/${shard}.json`,
  searchDocuments: (build: string, block: number): ApiPath<api.SearchDocuments> =>
    `api/search/${id(build)}/documents/${block}.json`,
  searchFacets: (build: string): ApiPath<api.SearchFacets> => `api/search/${id(build)}/facets/0.json`,
};

/** The same answer as a table. */
export function csvOf(path: string): string {
  return path.replace(/\.json$/, ".csv");
}

/** An id out of the address: what cannot be one (dots, slashes) leads nowhere instead of somewhere else. */
function id(text: string): string {
  return /^[a-z0-9-]{1,80}$/.test(text) ? text : "no-such-id";
}
