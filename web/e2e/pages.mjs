/**
 * Every page of a store, as [name, what is behind the # of its address]; *answer* asks the API.
 *
 * Pages that the store has nothing for are left out: stems, the exam of two judges, conversations to label.
 */
export async function pagesOf(answer) {
  const index = await answer("index.json");
  const exam = await answer("exam.json");
  const board = await answer(`boards/${index.boards[0].id}.json`);
  const ranked = board.rows.filter(({ rank }) => rank !== null);
  const [first, last] = [board.rows[0], ranked.at(-1)].map((row) => row?.subject.id);
  const { transcripts } = await answer(`boards/${board.board.id}/subjects/${first}.json`);
  let pair; // a conversation with two answers
  for (const { id } of transcripts.slice(0, 20))
    pair ??= (await answer(`transcripts/${id}.json`)).turns ? id : undefined;
  const scenario = board.scenarios[0].id;
  const pages = {
    "leaderboard": "/",
    "leaderboard: table": "/?view=table",
    "leaderboard: scenarios": "/?view=heat",
    "leaderboard: scatter": "/?view=scatter",
    "subject": `/subject/${first}`,
    "transcript": `/transcript/${transcripts[0].id}?phrases=drift&tools=yes`,
    "transcript: side by side": pair && `/transcript/${pair}?side=yes&tools=yes`,
    "scenarios": "/scenarios",
    "scenario": `/scenario/${scenario}`,
    "stem": index.protocols.some(({ unvalidated }) => unvalidated) && `/stem/${scenario}?subject=${first}`,
    "compare: none picked": "/compare",
    "compare: two": `/compare?picked=${first},${last}`,
    "compare: settings": "/compare?view=settings",
    "compare: versions": "/compare?view=versions",
    "judges": "/judges",
    "exam": "/exam",
    "exam: two judges": exam.judges[1] && `/exam?judge=${exam.judges[0].id}&beside=${exam.judges[1].id}`,
    "label": index.offer.label !== null && "/label",
    "search": !index.offer.frozen && "/search?find=stay",
    "search: judges": !index.offer.frozen && "/search?find=ground&of=judged",
  };
  return Object.entries(pages).filter(([, hash]) => hash);
}
