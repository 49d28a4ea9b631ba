/** Where each answer lies, relative to the page: the same on the server and in a frozen site. Ids are safe in paths. */
export const paths = {
  index: "api/index.json",
  methods: "api/methods.json",
  board: (board: string) => `api/boards/${part(board)}.json`,
  subject: (board: string, subject: string) => `api/boards/${part(board)}/subjects/${part(subject)}.json`,
  scenario: (board: string, scenario: string) => `api/boards/${part(board)}/scenarios/${part(scenario)}.json`,
  scenarios: (board: string) => `api/boards/${part(board)}/scenarios.csv`,
  compare: (board: string, subject: string) => `api/boards/${part(board)}/compare/${part(subject)}.json`,
  settings: (series: string, subject: string) => `api/settings/${part(series)}/${part(subject)}.json`,
  judges: (protocol: string) => `api/judges/${part(protocol)}.json`,
  transcript: (transcript: string) => `api/transcripts/${part(transcript)}.json`,
  raw: (transcript: string) => `api/raw/${part(transcript)}.json`,
  search: "api/search/index.json",
  searchWords: (build: string, of: "said" | "judged", shard: number) =>
    `api/search/${part(build)}/${of}/${String(shard)}.json`,
  searchDocuments: (build: string, block: number) => `api/search/${part(build)}/documents/${String(block)}.json`,
  csv: (path: string) => path.replace(/\.json$/, ".csv"),
};

/** An id from the address: what is none (dots, slashes) leads nowhere instead of somewhere else. */
function part(id: string): string {
  return /^[a-z0-9-]{1,80}$/.test(id) ? id : "no-such-id";
}
