"""A command that would cost much asks before it sends anything; what a person said already is not
asked.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scripted_model import Answer, ScriptedModel, steady
from test_cli import CALLS, KEY, User

from independence_bench.cli.calling import ask_judge_with_progress
from independence_bench.engine.ask_judges import ask_one_judge, make_name_asker
from independence_bench.engine.run import Run
from independence_bench.errors import WrongUse
from independence_bench.models.endpoints import read_models_file
from independence_bench.protocol.loader import load_protocol_and_files
from independence_bench.store.database import open_store

NAMES = ("acme/one", "judge/one", "judge/two")
RUNS = 1000
NO_TERMINAL = "Go ahead? There is no terminal to answer at; use --yes or --budget USD"


def listed(dollars: float) -> list[dict[str, Any]]:
    """A list at whose prices a token costs so much."""
    pricing = {"prompt": f"{dollars:.9f}", "completion": f"{dollars:.9f}"}
    return [{"id": name, "pricing": pricing} for name in NAMES]


JUDGING = 0.004  # dollars a token, at which four judgements cost $10 to $20
DEAR, CHEAP = listed(0.01), listed(0.000000001)


@pytest.fixture
def user(small: Path, tmp_path: Path, serve: Callable[..., ScriptedModel]) -> User:
    """A user whose endpoint answers and judges steadily."""
    found = User(tmp_path, serve(steady()))
    found.models()
    return found


def stranger(small: Path) -> None:
    """Somebody else's protocol, which wants a thousand runs."""
    file = small / "protocol.yaml"
    text = file.read_text(encoding="utf-8")
    assert "runs: 2" in text
    file.write_text(text.replace("runs: 2", f"runs: {RUNS}"), encoding="utf-8")


ORDER = ("run", "scripted:acme/one", "--protocol", "small")


@pytest.mark.parametrize("models", [CHEAP, []], ids=["cheap", "price not known"])
def test_a_protocol_of_a_thousand_runs_is_asked_about(
    user: User, small: Path, models: list[Any]
) -> None:
    """Without a terminal the command ends before anything is sent, and names what answers; at one
    it asks.
    """
    stranger(small)
    user.server.models_answer = Answer({"data": models})

    done = user.aib(*ORDER)

    assert done.returncode == 2
    last = done.stderr.splitlines()[-1]
    assert last.startswith("aib: That is at most 11,000 calls, about ")
    assert last.endswith(NO_TERMINAL)
    code, said = user.typing("n\n", *ORDER)
    assert code == 1
    assert "nothing was sent" in said
    assert user.server.asked == []


def test_a_forecast_of_much_money_is_asked_about(user: User) -> None:
    """However few the calls; a yes on the command line answers it, and a budget does."""
    user.server.models_answer = Answer({"data": DEAR})

    done = user.run()

    assert done.returncode == 2
    assert NO_TERMINAL in done.stderr
    assert "$" in done.stderr.splitlines()[-1]
    bounded = user.run("--budget", "0.01")
    assert bounded.returncode == 1
    assert "the budget of $0.01 is used up" in bounded.stderr
    assert user.server.asked == []
    assert user.run("--yes").returncode == 0
    assert len(user.server.asked) == CALLS


def test_an_ordinary_order_is_not_asked_about(user: User) -> None:
    """Two runs at a price of every day."""
    user.server.models_answer = Answer({"data": listed(0.000001)})

    done = user.run(runs=2)

    assert done.returncode == 0, done.stderr
    assert "Go ahead?" not in done.stderr


def test_what_costs_nothing_is_not_asked_about(user: User, small: Path) -> None:
    """A thousand runs at an endpoint that is free begin at once."""
    stranger(small)
    models = f'endpoints:\n  scripted: {{url: "{user.server.url}", free: true}}\n'
    (user.folder / "models.yaml").write_text(models, encoding="utf-8")

    with user.start("--judge", "scripted:judge/one") as child:
        # the first six ask whether the server shows tools
        user.server.wait_until(lambda model: len(model.asked) > 9)
        child.send_signal(signal.SIGINT)
        _, said = child.communicate()

    assert "Go ahead?" not in said
    assert "at most 11,000 calls" in said


def test_judging_is_asked_about_for_all_judges_together(user: User) -> None:
    """Each of them would cost less than what is asked about."""
    user.server.models_answer = Answer({"data": listed(JUDGING)})
    assert user.run("--no-judge", "--yes").returncode == 0
    sent = len(user.server.asked)

    one = ("judge", "-j", "scripted:judge/one", "--protocol", "small")
    both = user.aib(*one, "-j", "scripted:judge/two")

    assert both.returncode == 2
    assert NO_TERMINAL in both.stderr
    assert len(user.server.asked) == sent
    assert user.aib(*one).returncode == 0
    assert user.aib(*one, "-j", "scripted:judge/two", "--yes").returncode == 0


def test_a_character_is_asked_about(user: User) -> None:
    """`aib persona run` at a dear price, at several depths together."""
    user.server.models_answer = Answer({"data": DEAR})
    assert user.aib("persona", "new", "mira.yaml", "--example", "companion").returncode == 0
    order = (
        "persona",
        "run",
        "mira.yaml",
        "--model",
        "scripted:acme/one",
        "--judge",
        "scripted:judge/one",
    )

    done = user.aib(*order, "--quick")

    assert done.returncode == 2
    assert NO_TERMINAL in done.stderr
    assert user.server.asked == []
    assert user.aib(*order, "--quick", "--budget", "0.01").returncode == 1


def test_questions_that_are_only_counted_are_asked_about_by_their_number(
    user: User, small: Path
) -> None:
    """Names to be read, stems to be written: nothing says what they cost, so their number
    decides.
    """
    protocol, files = load_protocol_and_files(small)
    order = Run(
        protocol=(protocol, files),
        roster=read_models_file(user.folder / "models.yaml"),
        judge="judge/one",
        judge_only=True,
        allow=lambda _endpoint: None,
    )
    ask = partial(ask_one_judge, order)
    asker_of = partial(make_name_asker, [])
    with open_store(user.folder / "aib.db") as store, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SCRIPTED_KEY", KEY)
        with pytest.raises(WrongUse, match=r"That is 5,001 calls, .* price not known. Go ahead"):
            ask_judge_with_progress(partial(ask, store, asker_of, 5_001), order, store, yes=False)
        for calls, yes in ((5_000, False), (5_001, True)):
            asking = partial(ask, store, asker_of, calls)
            assert ask_judge_with_progress(asking, order, store, yes) is not None
