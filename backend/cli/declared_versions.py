"""`headwater versions hold`, `release` and `declare`: what people say of blocks and consumers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from headwater.backend.cli.answers import Answers, open_answers
from headwater.backend.cli.collection import Dataset
from headwater.backend.cli.machine_user import machine_user
from headwater.backend.cli.options import Home
from headwater.backend.cli.output import note
from headwater.errors import InvalidQueryError, NotFoundError
from headwater.graph.model import NodeKind
from headwater.graph.model.declaration import BLOCK_MODES, CONSUMPTION_MODES, Aspect
from headwater.graph.model.descriptions import declared_consumption


def hold(
    dataset: Dataset,
    reason: Annotated[str, typer.Option(help="Why the data must not be dropped.")],
    block: Annotated[int | None, typer.Option(min=1, help="Hold this block only, by its sequence.", show_default=False)] = None,
    home: Home = None,
) -> None:
    """Declare a legal hold on a dataset or on one of its blocks. `gc` drops nothing that a hold covers.

    For example:

      headwater versions hold out/events --block 3 --reason "case 17"
    """
    asyncio.run(_declare_hold(dataset, block, reason, home))


def declare(
    dataset: Dataset,
    mode: Annotated[str, typer.Option(help="all, new or old for a consumer; base or delta for a block; inferred for none.")],
    consumer: Annotated[str | None, typer.Option(metavar="JOB", help="A job that reads the dataset.", show_default=False)] = None,
    block: Annotated[int | None, typer.Option(min=1, help="A block, by its sequence.", show_default=False)] = None,
    home: Home = None,
) -> None:
    """Declare how a job reads a dataset, or what a block did to it. A declaration wins over what the runs show.

    all: the job reads the whole dataset. new: it reads the blocks after its cursor. old: it reads the blocks up to its cursor. base: the
    block replaced the dataset. delta: it added to it or changed it.

    For example:

      headwater versions declare out/events --consumer report --mode new

      headwater versions declare out/events --block 3 --mode base
    """
    if (consumer is None) == (block is None):
        raise InvalidQueryError("Name a consumer or a block.", field="consumer", hint="--consumer JOB, or --block N.")
    modes = (*CONSUMPTION_MODES, "inferred") if block is None else BLOCK_MODES
    if mode not in modes:
        raise InvalidQueryError(
            f"{mode!r} is no mode of a {'consumer' if block is None else 'block'}.", field="mode", hint=", ".join(modes)
        )
    asyncio.run(_declare_mode(dataset, mode, consumer, block, home))


async def _declare_mode(dataset: str, mode: str, consumer: str | None, block: int | None, home: Path | None) -> None:
    async with open_answers(home) as answers:
        identifier = await answers.find_dataset(dataset)
        if block is not None:
            target = await _find_block(answers, identifier, block, dataset)
            described: dict[str, object] = {"id": target, "aspect": Aspect.BLOCK.value, "value": mode}
        else:
            job = await answers.find(str(consumer), NodeKind.JOB)
            target, modes = job.id, dict(declared_consumption(job))
            modes.pop(identifier, None)
            if mode != "inferred":
                modes[identifier] = mode
            value = "\n".join(f"{each} {of}" for of, each in sorted(modes.items()))
            described = {"id": target, "aspect": Aspect.CONSUMPTION.value, "value": value or "-", "removed": not modes}
        await answers.declare({"by": machine_user(), "descriptions": [described]})
    note(f"The mode of {target} is {mode}.")


async def _find_block(answers: Answers, identifier: str, block: int, dataset: str) -> str:
    """Return the version of a block of a dataset."""
    query = "query ($dataset: ID!, $before: Int) { blocks(dataset: $dataset, first: 1, before: $before) { blocks { sequence version } } }"
    found = (await answers.ask(query, dataset=identifier, before=block + 1))["blocks"]["blocks"]
    if not found or found[0]["sequence"] != block:
        raise NotFoundError(f"{dataset} has no block {block}.", hint="`headwater versions` lists its blocks.")
    return str(found[0]["version"])


def release(
    dataset: Dataset,
    block: Annotated[int | None, typer.Option(min=1, help="Release this block only, by its sequence.", show_default=False)] = None,
    home: Home = None,
) -> None:
    """End a legal hold on a dataset or on one of its blocks.

    For example:

      headwater versions release out/events --block 3
    """
    asyncio.run(_declare_hold(dataset, block, None, home))


async def _declare_hold(dataset: str, block: int | None, reason: str | None, home: Path | None) -> None:
    async with open_answers(home) as answers:
        target = await answers.find_dataset(dataset)
        if block is not None:
            target = await _find_block(answers, target, block, dataset)
        described = {"id": target, "aspect": Aspect.LEGAL_HOLD.value, "value": reason or "-", "removed": reason is None}
        await answers.declare({"by": machine_user(), "descriptions": [described]})
    note(f"A legal hold covers {target}." if reason else f"No legal hold of its own covers {target} any more.")
