"""Finds what a run names in files: endpoints and models, configurations, experiments, weights.

Knows no store and no client, so that a command that only reads imports neither.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from independence_bench.errors import WrongUse
from independence_bench.escape import escape_text
from independence_bench.lookup import find_similar_files, suggest_names
from independence_bench.models.endpoints import apply_openrouter_variables, read_models_file
from independence_bench.models.spec import Roster
from independence_bench.models.trust import check_url
from independence_bench.protocol.definition import DELIVERIES, Configuration, Protocol

MODELS_FILE = "models.yaml"
LIKE_MODELS = 0.8  # how much of that name another one has: modles, model, model_s


def read_roster(models_file: Path | None, local_url: str | None = None) -> Roster:
    """Return the endpoints and models that are built in and those of models.yaml. The environment
    variable `OPENROUTER_BASE_URL` overrides the address of OpenRouter in both.

    *models_file*: the file to read; None: models.yaml or models.yml in the working folder, if there
    is one. *local_url*: the address of the endpoint `local`. A note on stderr says which file is
    read if it is not called models.yaml, and which file with nearly that name is not read: with
    wrong settings a run costs money for nothing.
    """
    if models_file is None:
        models_file, remark = find_models_file_and_note()
        sys.stderr.write(escape_text(remark))
    roster = apply_openrouter_variables(
        os.environ, Roster() if models_file is None else read_models_file(models_file)
    )
    return roster.move_endpoint("local", check_url(local_url)) if local_url else roster


def find_models_file_and_note() -> tuple[Path | None, str]:
    """Return (path, note): the path of models.yaml in the working folder, else of models.yml, None
    if there is neither; and a line for the user.

    The line says that models.yml is read, or names a file with a similar name that is not read; ""
    if there is nothing to say.
    """
    usual = Path(MODELS_FILE)
    if usual.is_file():
        return usual, ""
    if (other := usual.with_suffix(".yml")).is_file():
        return other, f"note: {other} is read, there being no {usual}\n"
    close = find_similar_files(usual, min_similarity=LIKE_MODELS)
    left = f"note: {close[0]} is not read; call it {usual} if it is one\n" if close else ""
    return None, left


def choose_configurations(
    protocol: Protocol, variants: Sequence[str], deliveries: Sequence[str]
) -> tuple[Configuration, ...]:
    """Return the configurations to play: each system prompt of *variants* in each delivery mode of
    *deliveries*. If one of the two is empty, the variants or modes of the default configurations of
    *protocol* take its place; if both are, the result is the default configurations. Raises
    WrongUse for an unknown name.
    """
    if not variants and not deliveries:
        return protocol.configurations
    known = [name for name, _ in protocol.systems]
    wanted = variants or list(dict.fromkeys(c.system for c in protocol.configurations))
    ways = deliveries or list(dict.fromkeys(c.delivery for c in protocol.configurations))
    for name in wanted:
        if name not in known:
            raise WrongUse(
                f"--variants: {protocol.name} has no variant {name}; {suggest_names(name, known)}"
            )
    for way in ways:
        if way not in DELIVERIES:
            raise WrongUse(
                f"--modes: there is no delivery {way}; "
                f"{suggest_names(way, DELIVERIES, 'there are')}"
            )
        if way not in protocol.deliveries:
            raise WrongUse(
                f"--modes: {protocol.name} has no wording for {way}; its protocol.yaml needs "
                f"`{way}:`"
            )
    return tuple(Configuration(name, way) for name in wanted for way in DELIVERIES if way in ways)


def choose_experiments(protocol: Protocol, wanted: Sequence[str]) -> tuple[str, ...]:
    """Return the names of the experiments in *wanted*, in the order of *protocol*; () for an empty
    *wanted*, which means all experiments. Raises WrongUse for an unknown name.
    """
    known = [experiment.name for experiment in protocol.experiments]
    for name in wanted:
        if name not in known:
            raise WrongUse(
                f"--exp: {protocol.name} has no experiment {name}; {suggest_names(name, known)}"
            )
    return tuple(name for name in known if name in wanted)


def apply_weights(protocol: Protocol, weights_name: str | None) -> Protocol:
    """Return *protocol* with its set of dimension weights that is called *weights_name*; None: with
    its default weights. Raises WrongUse if *protocol* has no set of that name.
    """
    names = [weighting.name for weighting in protocol.weightings]
    if weights_name is not None and weights_name not in names:
        there = (
            suggest_names(weights_name, names)
            if names
            else "it has its default weights only: leave --weights out"
        )
        raise WrongUse(f"--weights: {protocol.name} has no weights called {weights_name}; {there}")
    return protocol.choose_weights(weights_name)
