"""Where in a YAML text a path of the document stands."""

from __future__ import annotations

import re

import yaml

_STEP = re.compile(r"[^.\[\]]+")


def line_of(text: str, path: str) -> int | None:
    """The line, from 1, of what the path names, or of the nearest thing around it; None where there is none."""
    if not path:
        return None
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        return None
    line: int | None = None
    for step in _STEP.findall(path):
        below = _below(node, step)
        if below is None:
            break
        key, node = below
        line = key.start_mark.line + 1
    return line


def _below(node: yaml.Node | None, step: str) -> tuple[yaml.Node, yaml.Node] | None:
    """The node that a step leads to, with the node that names it."""
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and step.isdigit() and int(step) < len(node.value):
        return node.value[int(step)], node.value[int(step)]
    return None
