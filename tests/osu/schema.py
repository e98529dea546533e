"""Checks a document against the JSON schema subset this project uses.

A keyword it does not know is an error, so that nothing in a schema is
silently unchecked.
"""
import re

TYPES = {
    "object": dict, "array": list, "string": str, "boolean": bool,
    "integer": int, "number": (int, float), "null": type(None),
}
NOTES = {"$schema", "$id", "title", "description"}


def _is(value, name):
    if isinstance(value, bool) and name != "boolean":
        return False
    return isinstance(value, TYPES[name])


def _type(value, names, at, _schema):
    names = names if isinstance(names, list) else [names]
    if not any(_is(value, name) for name in names):
        yield f"{at}: {value!r} is not {' or '.join(names)}"


def _properties(value, members, at, _schema):
    if isinstance(value, dict):
        for key in value.keys() & members.keys():
            yield from errors(value[key], members[key], f"{at}.{key}")


def _additional(value, rule, at, schema):
    if not isinstance(value, dict):
        return
    for key in value.keys() - schema.get("properties", {}).keys():
        if rule is False:
            yield f"{at}: unexpected {key!r}"
        else:
            yield from errors(value[key], rule, f"{at}.{key}")


def _required(value, keys, at, _schema):
    if isinstance(value, dict):
        yield from (f"{at}: lacks {key!r}" for key in keys
                    if key not in value)


def _items(value, rule, at, _schema):
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from errors(item, rule, f"{at}[{index}]")


def _test(kind, holds):
    def check(value, bound, at, _schema):
        if isinstance(value, kind) and not holds(value, bound):
            yield f"{at}: {value!r} against {bound!r}"
    return check


KEYWORDS = {
    "type": _type,
    "properties": _properties,
    "additionalProperties": _additional,
    "required": _required,
    "items": _items,
    "const": _test(object, lambda value, bound: value == bound),
    "enum": _test(object, lambda value, bound: value in bound),
    "minimum": _test((int, float), lambda value, bound: value >= bound),
    "minItems": _test(list, lambda value, bound: len(value) >= bound),
    "maxItems": _test(list, lambda value, bound: len(value) <= bound),
    "pattern": _test(str, lambda value, bound: re.search(bound, value)),
}


def errors(value, schema, at="$"):
    """Yields one line for each place where value breaks the schema."""
    for keyword, rule in schema.items():
        if keyword in NOTES:
            continue
        if keyword not in KEYWORDS:
            yield f"{at}: schema keyword {keyword!r} is not checked"
            continue
        yield from KEYWORDS[keyword](value, rule, at, schema)
