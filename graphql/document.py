"""Computes the cost of a GraphQL document before it is validated.

The text is limited first (length, nested brackets, tokens), then the parsed document: depth, aliases, fields and costly
fields, with every fragment counted once and its cost reused. The computation takes linear time, so a small document whose fragments
multiply cannot block the service. It must never expand a fragment, and must never validate a document beyond a limit.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from graphql import (
    DocumentNode,
    FieldNode,
    FragmentDefinitionNode,
    FragmentSpreadNode,
    InlineFragmentNode,
    OperationDefinitionNode,
    SelectionSetNode,
)
from strawberry.extensions import SchemaExtension

from headwater.errors import InvalidQueryError
from headwater.graphql.errors import graphql_error
from headwater.graphql.limits import MAX_ALIASES, MAX_ARGUMENTS, MAX_COSTLY, MAX_DEPTH, MAX_DOCUMENT, MAX_FIELDS, MAX_NESTING, MAX_TOKENS

# The brackets of a text outside of strings and comments.
_BRACKETS = re.compile(
    r'"""(?:[^"\\]|\\(?:""")?|"{1,2}(?!"))*(?:"""|\Z)|"(?:[^"\\\n]|\\.)*(?:"|\\?$)|\#[^\n\r]*|([\[{(])|([\]})])', re.MULTILINE
)
_LONG_NUMBER = re.compile(r"\d{301}")


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of selections, with their fragments expanded. `depth` is the number of levels of fields. Introspection does not count."""

    fields: int = 0
    arguments: int = 0
    costly: int = 0
    aliases: int = 0
    depth: int = 0


class DocumentLimits(SchemaExtension):
    """Refuses a document beyond a limit. The text is checked before it is parsed, the document before it is validated."""

    def on_operation(self) -> Iterator[None]:
        """Check the text."""
        try:
            check_text(self.execution_context.query or "")
        except InvalidQueryError as error:
            raise graphql_error(error) from error
        self.execution_context.parse_options["max_tokens"] = MAX_TOKENS
        yield

    def on_validate(self) -> Iterator[None]:
        """Check the parsed document."""
        if self.execution_context.graphql_document is not None:
            try:
                costly: frozenset[str] = getattr(self.execution_context.schema, "costly_fields", frozenset())
                check_document(self.execution_context.graphql_document, costly)
            except InvalidQueryError as error:
                raise graphql_error(error) from error
        yield


def check_text(text: str) -> None:
    """Check that the parser can read a text within its limits.

    Raises:
        InvalidQueryError: the text is too long, or its brackets are nested too deeply.
    """
    if len(text) > MAX_DOCUMENT:
        raise InvalidQueryError(
            f"The document has {len(text):,} characters.", field="query", hint=f"It may have {MAX_DOCUMENT:,}; pass values as variables."
        )
    if _LONG_NUMBER.search(text):
        raise InvalidQueryError("The document holds a number of more than 300 digits.", field="query", hint="Pass it as a text.")
    depth = 0
    for bracket in _BRACKETS.finditer(text):
        if bracket[1]:
            depth += 1
            if depth > MAX_NESTING:
                raise InvalidQueryError(f"The document nests more than {MAX_NESTING} brackets.", field="query", hint=_DEPTH_HINT)
        elif bracket[2]:
            depth -= 1


def check_document(document: DocumentNode, costly: Collection[str]) -> None:
    """Check that a document is within every limit. All of its operations are added. `costly` are the names of costly fields.

    Raises:
        InvalidQueryError: the document exceeds a limit. The message names the limit.
    """
    cost = cost_of(document, costly)
    for count, limit, what, hint in (
        (cost.depth, MAX_DEPTH, "levels of depth", _DEPTH_HINT),
        (cost.aliases, MAX_ALIASES, "aliases", "Ask in several requests."),
        (cost.costly, MAX_COSTLY, f"costly fields ({', '.join(sorted(costly)[:4])}, …)", "Ask in several requests."),
        # Validation compares the arguments of every two fields of one name.
        (cost.arguments, MAX_ARGUMENTS, "fields with arguments", "Ask in several requests."),
        (cost.fields, MAX_FIELDS, "fields, counted with their fragments in place", "Ask for fewer fields, or in several requests."),
    ):
        if count > limit:
            raise InvalidQueryError(f"The document has more than {limit:,} {what}.", field="query", hint=hint)


def cost_of(document: DocumentNode, costly: Collection[str]) -> Cost:
    """Return the cost of all operations of a document.

    Raises:
        InvalidQueryError: a fragment contains itself.
    """
    fragments = {part.name.value: part for part in document.definitions if isinstance(part, FragmentDefinitionNode)}
    counter = _Counter(fragments, costly)
    # Unused fragments are counted too, because validation processes them.
    for name in fragments:
        counter.of_fragment(name, ())
    operations = (part for part in document.definitions if isinstance(part, OperationDefinitionNode))
    return _sum(counter.of_selections(operation.selection_set, ()) for operation in operations)


class _Counter:
    """Computes the cost of one document, of each fragment once. `within` are the fragments around a selection."""

    def __init__(self, fragments: Mapping[str, FragmentDefinitionNode], costly: Collection[str]) -> None:
        self._fragments = fragments
        self._costly = costly
        self._costs: dict[str, Cost] = {}

    def of_fragment(self, name: str, within: tuple[str, ...]) -> Cost:
        if name in within:
            raise InvalidQueryError(f"The fragment {name} spreads itself.", field="query", hint="Write out what it selects.")
        if name not in self._fragments:
            return Cost()  # validation reports a missing fragment
        if name not in self._costs:
            if len(within) > MAX_NESTING:
                raise InvalidQueryError(f"More than {MAX_NESTING} fragments spread one another.", field="query", hint=_DEPTH_HINT)
            self._costs[name] = self.of_selections(self._fragments[name].selection_set, (*within, name))
        return self._costs[name]

    def of_selections(self, selections: SelectionSetNode, within: tuple[str, ...]) -> Cost:
        return _sum(self._of(selection, within) for selection in selections.selections)

    def _of(self, selection: object, within: tuple[str, ...]) -> Cost:
        if isinstance(selection, FragmentSpreadNode):
            return self.of_fragment(selection.name.value, within)
        if isinstance(selection, InlineFragmentNode):
            return self.of_selections(selection.selection_set, within)
        if not isinstance(selection, FieldNode):
            return Cost()
        name = selection.name.value
        inner = self.of_selections(selection.selection_set, within) if selection.selection_set else Cost(depth=-1)
        return Cost(
            fields=1 + inner.fields,
            arguments=bool(selection.arguments) + inner.arguments,
            costly=(name in self._costly) + inner.costly,
            aliases=(selection.alias is not None) + inner.aliases,
            depth=0 if name.startswith("__") else 1 + inner.depth,
        )


def _sum(costs: Iterable[Cost]) -> Cost:
    fields = arguments = costly = aliases = depth = 0
    for cost in costs:
        fields += cost.fields
        arguments += cost.arguments
        costly += cost.costly
        aliases += cost.aliases
        depth = max(depth, cost.depth)
    # A chain of fragments may double the cost at each step, so the numbers are capped beyond every limit.
    return Cost(min(fields, _MANY), min(arguments, _MANY), min(costly, _MANY), min(aliases, _MANY), depth)


_MANY = 1 << 40
_DEPTH_HINT = "Ask for the inner part in a request of its own."
