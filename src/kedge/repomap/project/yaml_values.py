"""YAML from untrusted files as plain values, by PyYAML's parser.

Values are built from the parser's events, so that the depth is limited before anything is nested,
and every scalar keeps its line. Tags and merge keys are not interpreted.
"""

from __future__ import annotations

from typing import Any

from kedge.repomap.project.formats import Broken, YamlText

MAX_DEPTH = 60


def parse_yaml(text: str) -> Any:
    """The first document as dicts, lists and `YamlText`; None if there is none.

    An alias is the value that it names. Raises Broken if the text is not YAML, or nested
    too deeply.
    """
    import yaml

    events = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    anchors: dict[str | None, Any] = {}

    def build(event: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise Broken("nested too deeply")
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise Broken(f"invalid YAML in line {line}")
            return anchors[event.anchor]
        if isinstance(event, yaml.ScalarEvent):
            scalar = anchors[event.anchor] = YamlText(event.value)
            # the text of a block begins below its indicator
            scalar.line = line + 1 if event.style in ("|", ">") else line
            return scalar
        if isinstance(event, yaml.SequenceStartEvent):
            items = anchors[event.anchor] = []
            while not isinstance(item := next(events), yaml.SequenceEndEvent):
                items.append(build(item, depth + 1))
            return items
        table = anchors[event.anchor] = {}
        while not isinstance(key := next(events), yaml.MappingEndEvent):
            name, value = build(key, depth + 1), build(next(events), depth + 1)
            if isinstance(name, YamlText):
                table[name] = value
        return table

    try:
        nodes = (event for event in events if isinstance(event, yaml.NodeEvent))
        return build(first, 0) if (first := next(nodes, None)) else None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise Broken(f"invalid YAML in line {mark.line + 1}" if mark else "invalid YAML") from None
    except (yaml.YAMLError, ValueError):
        raise Broken("invalid YAML") from None
