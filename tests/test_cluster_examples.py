"""The files of docs/examples/cluster: manifests have fields that Kubernetes knows, scripts parse,
commands exist.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Annotated, Literal

import click
import pytest
import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from independence_bench.cli.calling import parse_shard
from independence_bench.cli.main import cli
from independence_bench.models.endpoints import read_models_file
from independence_bench.protocol.loader import load_protocol

CLUSTER = Path(__file__).parent.parent / "docs" / "examples" / "cluster"
SCRIPTS = sorted(CLUSTER.glob("*.sh"))
Name = Annotated[str, Field(pattern=r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$")]
Quantity = Annotated[str, Field(pattern=r"^[0-9]+(\.[0-9]+)?(m|Ki|Mi|Gi)?$")]


# Of batch/v1 Job what the manifest uses: a field that is misspelled or in the wrong place fails, a
# new one is added here. The whole schema of Kubernetes is 70 MB.
class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _SecretKey(_Part):
    name: Name
    key: str


class _Source(_Part):
    secretKeyRef: _SecretKey  # noqa: N815 - Kubernetes writes so


class _Variable(_Part):
    name: Annotated[str, Field(pattern=r"^[A-Z_]+$")]
    valueFrom: _Source  # noqa: N815


class _Resources(_Part):
    requests: dict[Literal["cpu", "memory"], Quantity]
    limits: dict[Literal["cpu", "memory"], Quantity]


class _Container(_Part):
    name: Name
    image: str
    args: list[str]  # numbers and `yes` have to be in quotes, or Kubernetes refuses them
    env: list[_Variable]
    resources: _Resources


class _Pod(_Part):
    restartPolicy: Literal["OnFailure", "Never"]  # noqa: N815 - all that a Job takes
    terminationGracePeriodSeconds: int  # noqa: N815
    containers: list[_Container]


class _Named(_Part):
    name: Name


class _Labels(_Part):
    labels: dict[str, str]


class _Template(_Part):
    metadata: _Labels
    spec: _Pod


class _JobSpec(_Part):
    completionMode: Literal["Indexed"]  # noqa: N815 - otherwise no pod would know its part
    completions: Annotated[int, Field(ge=1)]
    parallelism: Annotated[int, Field(ge=1)]
    backoffLimit: Annotated[int, Field(ge=0)]  # noqa: N815
    template: _Template


class _KubernetesJob(_Part):
    apiVersion: Literal["batch/v1"]  # noqa: N815
    kind: Literal["Job"]
    metadata: _Named
    spec: _JobSpec


def understood(arguments: list[str]) -> click.Context:
    """The command that *arguments* are, parsed as `aib` does, not carried out. click's usage error
    where it is none, ProtocolError where there is no protocol of the name that it has.
    """
    command = cli.get_command(click.Context(cli), arguments[0])
    assert command is not None
    context = command.make_context(arguments[0], arguments[1:])
    load_protocol(context.params["protocol"])
    return context


def test_the_kubernetes_job_is_one_and_its_command_is_ours() -> None:
    """Every pod knows its part, and there are as many pods as parts."""
    manifest = yaml.safe_load((CLUSTER / "kubernetes.yaml").read_text(encoding="utf-8"))
    spec = TypeAdapter(_KubernetesJob).validate_python(manifest).spec
    (container,) = spec.template.spec.containers

    typed = understood(container.args).params
    parts = [
        parse_shard(typed["shard"], {"JOB_COMPLETION_INDEX": str(index)})
        for index in range(spec.completions)
    ]

    assert [part and part.number for part in parts] == list(range(1, spec.completions + 1))
    assert {part and part.of for part in parts} == {spec.completions}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_a_script_can_be_read_and_its_commands_are_ours(script: Path) -> None:
    """By the shell that it names; every `aib` in it has options and a protocol that there
    are.
    """
    text = script.read_text(encoding="utf-8")
    shell = text.splitlines()[0].removeprefix("#!")
    subprocess.run([shell, "-n", str(script)], check=True)
    lines = [line for line in text.replace("\\\n", " ").splitlines() if not line.startswith("#")]
    found = [match[1] for line in lines if (match := re.search(r"\baib (run .*)", line))]
    assert found
    for line in found:
        understood(shlex.split(line.replace("$#", "4").partition('" >')[0]))


@pytest.mark.parametrize(
    "script",
    [script for script in SCRIPTS if script.name not in ("ssh.sh", "ray.sh")],
    ids=lambda s: s.name,
)
def test_slurm_takes_the_script(script: Path) -> None:
    """By `sbatch --test-only` where there is one; its options are long ones with values
    everywhere.
    """
    asked = [
        line
        for line in script.read_text(encoding="utf-8").splitlines()
        if line.startswith("#SBATCH")
    ]
    assert asked
    assert all(re.fullmatch(r"#SBATCH --[a-z-]+(=\S+)?", line) for line in asked)
    if (sbatch := shutil.which("sbatch")) is not None:
        subprocess.run([sbatch, "--test-only", str(script)], check=True)


def test_the_models_file_can_be_read() -> None:
    """One endpoint for each weight."""
    roster = read_models_file(CLUSTER / "models.yaml")

    assert len({spec.endpoint for spec in roster.specs}) == len(roster.specs) == 2
