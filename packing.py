"""What is packed says whether it has the viewer's page. `AIB_RELEASE=1` packs nothing without it.

`AIB_PROJECT_URL`, the address of the repository that a package is published from, goes into its
metadata.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PAGE = "src/independence_bench/viewer/page/index.html"


class PageHook(BuildHookInterface):  # type: ignore[type-arg]
    """Looks for the page before a wheel or a source distribution is made. Whoever installs from the
    repository has no page and needs none but for `aib view` and `aib site`.
    """

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling first. Raises SystemExit where a release lacks the page."""
        if version == "editable" or (Path(self.root) / PAGE).is_file():
            return
        said = f"{PAGE} is missing: `make page` builds it, with Node"
        if os.environ.get("AIB_RELEASE") == "1":
            raise SystemExit(f"{said}. A release is not packed without it")
        self.app.display_warning(f"{said}. Without it there is no `aib view` and no `aib site`")


class UrlHook(MetadataHookInterface):
    """Says where the package comes from, where whoever packs it says so; the links of its readme
    lead there, too.
    """

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling with what pyproject.toml says. Raises SystemExit for what is no
        address.
        """
        url = os.environ.get("AIB_PROJECT_URL", "").rstrip("/")
        if url and not url.startswith("https://"):
            raise SystemExit(
                f"AIB_PROJECT_URL is {url!r}; write https://HOST/OWNER/ai-independence-bench"
            )
        places = {
            "Repository": "",
            "Documentation": "/tree/main/docs",
            "Changelog": "/blob/main/CHANGELOG.md",
        }
        metadata["urls"] = (
            {name: url + path for name, path in (places | {"Issues": "/issues"}).items()}
            if url
            else {}
        )
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = make_links_absolute(readme, url) if url else readme
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def make_links_absolute(markdown: str, url: str) -> str:
    """Return *markdown* with every link to a file of the repository, and every picture from it, at
    the repository's address *url*: an index of packages has only the page itself.
    """
    for opening, kind in ((r"!\[[^]]*\]\(", "raw"), (r"\]\(", "blob")):
        here = rf"({opening})(?!\w+:|#)"
        markdown = re.sub(here, lambda link: f"{link[1]}{url}/{kind}/main/", markdown)  # noqa: B023
    return markdown
