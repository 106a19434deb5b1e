"""``rapidchunk models``: encoder weights in the user's cache."""

from __future__ import annotations

import argparse
from typing import Any

from rapidchunk.cli.common import fetch

__all__ = ["add_parser"]


def add_parser(commands: Any) -> None:
    parser: argparse.ArgumentParser = commands.add_parser("models", help="fetch and list encoder models")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    get = actions.add_parser("get", help="fetch a model into the cache, once; prints its folder")
    get.add_argument(
        "name", metavar="NAME", help="a name of models list, or organisation/name@commit#sha256 on the Hub"
    )
    get.set_defaults(run=_get)
    actions.add_parser("list", help="the known models").set_defaults(run=_list)


def _get(given: argparse.Namespace) -> int:
    print(fetch(given.name))
    return 0


def _list(given: argparse.Namespace) -> int:
    from rapidchunk import models

    for model in models.available():
        state = str(model.folder) if model.is_cached() else "not fetched"
        print(f"{model.name}  {model.repo}  {model.size / 1e6:.0f} MB  {model.licence}  {state}")
    return 0
