"""Many tasks carried out beside each other, none of which outlives the others. Knows nothing of what they do."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable


async def together(works: Iterable[Coroutine[object, object, None]]) -> None:
    """Carry all of *works* out at once; nothing for none.

    Where one fails or we are cancelled, the others are cancelled and waited for before that is raised.
    """
    tasks = [asyncio.create_task(work) for work in works]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
