"""Inspect AI itself, on our tasks and on our logs: its own programs, with models of the simulated
endpoint.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from scripted_model import Answer, completion
from simulated_endpoint import aib, environment, simulating
from sqlalchemy import select
from test_http_client import Serve

from independence_bench.analysis.leaderboard import make_leaderboards
from independence_bench.judging.prompt import JudgingInput
from independence_bench.models.endpoints import read_models_file
from independence_bench.personas.earlier import load_everyday_chat, prepend_first_chat_turns
from independence_bench.personas.sheet import EXAMPLES, load_sheet, make_protocol_files
from independence_bench.protocol.conversation import Words, start_conversation
from independence_bench.protocol.loader import load_protocol
from independence_bench.protocol.scoring import SubjectScore
from independence_bench.store.blobs import unpack_text
from independence_bench.store.database import open_store
from independence_bench.store.schema import calls

pytestmark = pytest.mark.integration
pytest.importorskip("inspect_ai")

from inspect_ai.model import get_model  # noqa: E402 - not everywhere

from independence_bench.integrations.inspect.registry import _judge_case  # noqa: E402
from independence_bench.integrations.inspect.solver import make_chat_model  # noqa: E402

SUBJECTS = ("sim:sim/random", "sim:sim/evader", "sim:sim/gives-in-at-2", "sim:sim/stubborn")
JUDGE = "sim:sim/judge"
SERVED = "openai-api/sim/sim"  # the same models, as Inspect calls them
PROGRAM = Path(sys.executable).with_name("inspect")

READ = """
import json, sys
from inspect_ai.analysis import evals_df, messages_df, samples_df
from inspect_ai.log import list_eval_logs, read_eval_log

folder, *asked = sys.argv[1:]
tables = [table(folder) for table in (evals_df, samples_df, messages_df)] if asked else []
found = []
for info in list_eval_logs(folder):
    log = read_eval_log(info, resolve_attachments="full")
    calls = [event for sample in log.samples for event in sample.events if event.event == "model"]
    found.append({
        "file": info.name.rpartition("/")[2],
        "model": log.eval.model,
        "metrics": {name: one.value for score in log.results.scores \
for name, one in score.metrics.items()},
        "scores": [score.name for score in log.results.scores],
        "samples": len(log.samples),
        "subject": sum(call.role is None for call in calls),
        "usage": {name: one.input_tokens + one.output_tokens \
for name, one in log.stats.model_usage.items()},
    })
print(json.dumps({"logs": found, "rows": [len(table) for table in tables]}), flush=True)
"""
# what Inspect makes of the logs in a folder of the place; tables: as rows, too
Reads = Callable[..., dict[str, Any]]

# Inspect starts loops and threads that are none of this suite's, and takes seconds to be imported,
# with what it imports later: what it runs is forked from one process that has. Each line of the
# input is [program, arguments, file of what is printed], and is answered with the exit code. None
# looks through all that memory for garbage: a second at each end
FORKS = """
import gc, json, os, sys
import acp.schema, fastapi, inspect_ai.analysis, IPython, markdown_it
import independence_bench.integrations.inspect.registry
from inspect_ai._cli.main import main
from inspect_ai.model import get_model_info

get_model_info("any/model")  # reads what is known of all models
gc.freeze()

for line in sys.stdin:
    program, arguments, said = json.loads(line)
    child = os.fork()
    if not child:
        file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        sys.argv = [program, *arguments]
        try:
            sys.exit(main() if program == "inspect" else exec(program, {"__name__": "__main__"}))
        finally:
            gc.freeze()
    print("ENDED", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""
# (program, arguments) -> its exit code and all that it printed
Runs = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the models.yaml of a simulated endpoint, which runs."""
    folder = tmp_path_factory.mktemp("place")
    with simulating(folder):
        yield folder


def told(place: Path) -> dict[str, str]:
    """What Inspect sees: the simulated endpoint is one of its compatible services."""
    served = read_models_file(place / "models.yaml").find_endpoint("sim").url
    return environment(place) | {
        "SIM_API_KEY": "none",
        "SIM_BASE_URL": served,
        "INSPECT_DISPLAY": "plain",
        "INSPECT_LOG_LEVEL": "error",
        "COLUMNS": "400",
    }


@pytest.fixture(scope="module")
def run(place: Path) -> Iterator[Runs]:
    """What runs Inspect's program ("inspect"), or another one that is given as its source."""
    command = [sys.executable, "-c", FORKS]
    with (
        (place / "forks.log").open("wb") as log,
        subprocess.Popen(
            command,
            cwd=place,
            env=told(place),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        ) as process,
    ):
        asks, answers = process.stdin, process.stdout
        assert asks is not None
        assert answers is not None

        def one(program: str, *arguments: str) -> tuple[int, str]:
            said = place / "said"
            asks.write(json.dumps([program, arguments, str(said)]) + "\n")
            asks.flush()
            line = next((line for line in answers if line.startswith("ENDED ")), "")
            assert line, (place / "forks.log").read_text(encoding="utf-8")
            return int(line.split()[1]), said.read_text(encoding="utf-8")

        yield one
        asks.close()


def inspect(run: Runs, *arguments: str) -> None:
    """Run Inspect's program to its end."""
    code, said = run("inspect", *arguments)
    assert code == 0, said


def of_task(task: str, logs: str, *more: str, subject: str = "gives-in-at-2") -> list[str]:
    """`inspect eval` of *task*, into the folder *logs*."""
    models = ["--model", f"{SERVED}/{subject}", "--model-role", f"judge={SERVED}/judge"]
    return ["eval", f"independence_bench/{task}", *models, "--log-dir", logs, *more]


@pytest.fixture
def read(place: Path, run: Runs) -> Reads:
    """The reader of logs."""

    def ask(logs: str, *, tables: bool = False) -> dict[str, Any]:
        code, said = run(READ, str(place / logs), *(["tables"] if tables else []))
        line = next((line for line in said.splitlines() if line.startswith('{"logs"')), "")
        assert code == 0, said
        found: dict[str, Any] = json.loads(line)
        return found

    return ask


def rows(place: Path, store: str, protocol: str) -> dict[tuple[str, str], SubjectScore]:
    """(configurations, subject) -> its scores on the main judge's board of *protocol*."""
    found: dict[tuple[str, str], SubjectScore] = {}
    with open_store(place / store) as opened:
        for board in make_leaderboards(opened, load_protocol(protocol)):
            for row in board.rows:
                found.setdefault(("+".join(map(str, board.configurations)), row.label), row.score)
    return found


def test_four_subjects_in_two_configurations_come_back_as_they_were(
    place: Path, read: Reads
) -> None:
    """Eight logs: Inspect's metric is the board's index to the last digit, and the import has the
    same boards.
    """
    ways = [
        "--variants",
        "neutral,strong_independence",
        "--modes",
        "tool_role",
        "--judge",
        JUDGE,
        "--runs",
        "2",
    ]
    ran = aib(place, "run", *SUBJECTS, "--protocol", "lite", *ways, "--yes", "--store", "played.db")
    assert ran.returncode == 0, ran.stderr
    made = aib(place, "export", "logs", "--form", "inspect", "--store", "played.db")
    assert made.returncode == 0, made.stderr
    found = read("logs", tables=True)
    back = aib(place, "import", "logs", "--store", "back.db", "--json")
    before = rows(place, "played.db", "lite")

    assert len(found["logs"]) == len(before) == 8
    assert sorted(log["metrics"]["independence_index"] for log in found["logs"]) == sorted(
        row.index or 0 for row in before.values()
    )
    assert json.loads(back.stdout)["findings"] == []
    assert rows(place, "back.db", "lite") == before
    assert found["rows"][:2] == [8, 8 * 2 * len(load_protocol("lite").scenarios)]
    assert found["rows"][2] > found["rows"][1]
    assert all(
        log["subject"] == 2 * load_protocol("lite").configuration_reply_count
        for log in found["logs"]
    )
    assert all(log["usage"][log["model"]] > 0 for log in found["logs"])


@pytest.mark.parametrize(
    ("task", "more", "configuration"),
    [
        ("v2", ("--epochs", "2"), "strong_independence/tool_role"),
        ("lite", ("-T", "variants=neutral", "-T", "modes=user_role"), "neutral/user_role"),
    ],
    ids=["tool_role", "user_role"],
)
def test_a_task_has_the_index_of_its_board(
    place: Path, run: Runs, read: Reads, task: str, more: tuple[str, ...], configuration: str
) -> None:
    """Read back, it is ranked with the index that Inspect shows."""
    logs, store = f"logs-{task}", f"{task}.db"
    inspect(run, *of_task(task, logs, *more))
    (log,) = read(logs)["logs"]
    back = aib(place, "import", logs, "--store", store, "--json")
    (row,) = (row for (way, _), row in rows(place, store, task).items() if way == configuration)

    assert json.loads(back.stdout)["findings"] == []
    assert row.index == log["metrics"]["independence_index"]
    with closing(sqlite3.connect(place / store)) as database:
        (bought,) = database.execute("SELECT count(*) FROM replies").fetchone()
    assert log["subject"] == bought == row.runs * load_protocol(task).configuration_reply_count


def test_a_log_is_scored_again(place: Path, run: Runs, read: Reads) -> None:
    """By the same judge with the same index, from an export as well; by another judge beside the
    first one.
    """
    inspect(run, *of_task("lite", "scored", subject="gives-in-at-2"))
    (before,) = read("scored")["logs"]
    file = f"scored/{before['file']}"
    inspect(run, "score", file, "--action", "overwrite", "--overwrite")
    (again,) = read("scored")["logs"]
    assert again["metrics"] == before["metrics"]

    assert aib(place, "import", "scored", "--store", "scored.db").returncode == 0
    assert (
        aib(place, "export", "scored-again", "--form", "inspect", "--store", "scored.db").returncode
        == 0
    )
    (exported,) = read("scored-again")["logs"]
    another = (
        "--scorer",
        "independence_bench/independence",
        "--model-role",
        f"judge={SERVED}/judge-plain",
    )
    inspect(
        run,
        "score",
        f"scored-again/{exported['file']}",
        *another,
        "--action",
        "append",
        "--overwrite",
    )
    (both,) = read("scored-again")["logs"]
    assert aib(place, "import", "scored-again", "--store", "scored.db").returncode == 0
    judges = aib(place, "judges", "--protocol", "lite", "--store", "scored.db")

    assert exported["metrics"]["independence_index"] == before["metrics"]["independence_index"]
    assert len(both["scores"]) == 2
    assert all(
        f"inspect-openai-api:sim/sim/{name}@" in judges.stdout for name in ("judge", "judge-plain")
    )


def test_a_persona_is_a_task_too(place: Path, read: Reads) -> None:
    """Its log holds the files of its protocol, so it is read and ranked where the sheet is not.

    Here Inspect's program is started as a user does.
    """
    assert aib(place, "persona", "new", "mine.yaml", "--example", "companion").returncode == 0
    command = [PROGRAM, *of_task("own", "persona", "-T", "protocol=mine.yaml", "--limit", "2")]
    done = subprocess.run(command, cwd=place, env=told(place), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (place / "mine.yaml").unlink()
    (log,) = read("persona")["logs"]
    back = aib(place, "import", "persona", "--store", "persona.db", "--json")

    assert log["samples"] == 2
    assert str(log["metrics"]["independence_index"]) == "nan"  # of two stems there is no index
    assert json.loads(back.stdout)["findings"] == []


def test_a_persona_goes_on_an_earlier_chat(place: Path, run: Runs, read: Reads) -> None:
    """What Inspect's solver plays at a depth is what `aib` would have played there."""
    sheet = load_sheet(EXAMPLES / "toy.yaml")
    for name, text in prepend_first_chat_turns(
        make_protocol_files(sheet), load_everyday_chat(sheet.language), 6
    ).items():
        (place / "deep" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "deep" / name).write_text(text, encoding="utf-8")
    inspect(
        run,
        *of_task("own", "after", "-T", "protocol=deep", "--limit", "1", subject="persona-keeper"),
    )
    read("after")
    back = aib(place, "import", "after", "--store", "after.db", "--json")

    assert json.loads(back.stdout)["findings"] == []
    with open_store(place / "after.db") as store, store.open_snapshot() as connection:
        packed = connection.execute(
            select(calls.c.request).where(calls.c.kind == "reply")
        ).scalars()
        sent = [json.loads(unpack_text(request))["messages"] for request in packed]
    assert len(sent) == 12  # of the stem of the name
    assert {tuple(message["role"] for message in messages[1:8]) for messages in sent} == {
        ("user", "assistant") * 3 + ("user",)
    }


@pytest.mark.parametrize(
    ("task", "option", "says"),
    [
        ("own", "protocol=nowhere", "no protocol of that name"),
        ("v2", "variants=meek", "has no meek"),
    ],
)
def test_what_there_is_not_is_one_line(run: Runs, task: str, option: str, says: str) -> None:
    """A folder and a variant: Inspect says our sentence, and no traceback."""
    code, said = run(
        "inspect", "eval", f"independence_bench/{task}", "-T", option, "--model", "mockllm/model"
    )

    assert code != 0
    assert says in " ".join(said.split())
    assert "Traceback" not in said


FOREIGN = """
import sys
from inspect_ai import eval
from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelAPI, \
ModelOutput, modelapi
from inspect_ai.tool import ToolCall

class Parrot(ModelAPI):
    asked = 0

    async def generate(self, input, tools, tool_choice, config):
        Parrot.asked += 1
        if Parrot.asked == 1:  # is no answer, so it is asked again
            return ModelOutput.from_content("parrot", "")
        said = {"message": "I keep to what I said."}
        calls = [ToolCall(id="one", function=tools[0].name, arguments=said)] if tools else None
        message = ChatMessageAssistant(content="" if calls else said["message"], tool_calls=calls)
        return ModelOutput(model="parrot-1", \
choices=[ChatCompletionChoice(message=message, stop_reason="stop")])

@modelapi(name="parrot")
def parrot():
    return Parrot

eval("independence_bench/lite", model="parrot/grey", \
model_roles={"judge": "openai-api/sim/sim/judge"}, epochs=1,
     log_dir=sys.argv[1], display="none")
"""


def test_a_model_of_inspect_s_own_providers_is_a_subject_of_its_own(
    place: Path, run: Runs, read: Reads
) -> None:
    """What such a provider sends is its own, and its label says so; its tool calls are heard, an
    empty reply is not.
    """
    code, said = run(FOREIGN, "foreign")
    assert code == 0, said
    (log,) = read("foreign")["logs"]
    back = aib(place, "import", "foreign", "--store", "foreign.db", "--json")
    found = rows(place, "foreign.db", "lite")

    assert json.loads(back.stdout)["findings"] == []
    assert {label for _, label in found} == {"inspect-parrot:grey@none-t0.7"}
    assert [row.index for row in found.values()] == [log["metrics"]["independence_index"]]
    assert log["subject"] == load_protocol("lite").configuration_reply_count + 1


# of a library of Inspect's
@pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning")
def test_a_judge_whose_replies_are_broken_is_asked_three_times(serve: Serve) -> None:
    """As by `aib run`, from the second time on with what was wrong; then there is no verdict, with
    the reason.
    """
    server = serve(lambda _: Answer(completion("no JSON")))
    judge = get_model("openai-api/scripted/judge", base_url=server.url, api_key="none")
    protocol = load_protocol("lite")
    scenario = protocol.find_scenario("identity_erasure")
    talk = start_conversation("Be.", scenario.script)
    while talk.next_reply_name:
        talk = talk.add_reply(Words("No.", ""))
    case = JudgingInput(talk.transcript, scenario, protocol.judge_instructions)

    judgement, _ = asyncio.run(
        _judge_case(judge, make_chat_model(judge, judge.config, 0.0, 100), case)
    )

    assert judgement.reason == ("the judge's reply is not one JSON object: it has none (3 tries)")
    first, *others = [asked.body["messages"] for asked in server.asked]
    assert [[message["role"] for message in messages] for messages in others] == [
        ["system", "user", "assistant", "user"]
    ] * 2
    for messages in others:
        assert messages[:2] == first
        assert messages[2]["content"] == "no JSON"
        assert messages[3]["content"].startswith("That could not be read: the judge's reply is not")
