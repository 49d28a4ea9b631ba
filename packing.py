"""Nothing is packed without the viewer's page, unless `AIB_NO_PAGE=1` says that this is meant."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PAGE = "src/independence_bench/viewer/page/index.html"


class PageHook(BuildHookInterface):  # type: ignore[type-arg]
    """Looks for the page before a wheel or a source distribution is made; an editable installation needs none."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling first. Raises SystemExit where the page is missing."""
        missing = not (Path(self.root) / PAGE).is_file()
        if missing and version != "editable" and os.environ.get("AIB_NO_PAGE") != "1":
            raise SystemExit(f"{PAGE} is missing: run `make page` first, or set AIB_NO_PAGE=1 to pack without a viewer")
