"""JSON Schema, as much of it as tools/doctor.schema.json uses. A keyword
that is not known here is an error, so that none goes unchecked."""

import re

TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "null": lambda v: v is None,
}
NOTES = {"$schema", "$id", "$defs", "title", "description"}


def check_type(value, names, where):
    names = names if isinstance(names, list) else [names]
    if not any(TYPES[name](value) for name in names):
        yield f"{where}: {value!r} is not {' or '.join(names)}"


def check_object(value, schema, root, where):
    known = schema.get("properties", {})
    for name in schema.get("required", []):
        if name not in value:
            yield f"{where}: {name} is missing"
    for name, part in value.items():
        if name in known:
            yield from check(part, known[name], root, f"{where}.{name}")
        elif schema.get("additionalProperties", True) is False:
            yield f"{where}: {name} is not known"


def check_array(value, schema, root, where):
    if len(value) < schema.get("minItems", 0):
        yield f"{where}: too few items"
    for i, item in enumerate(value):
        yield from check(item, schema.get("items", {}), root, f"{where}[{i}]")


def check(value, schema, root=None, where="report"):
    """Yields a line for each thing in value that schema does not allow."""
    root = root or schema
    if "$ref" in schema:
        target = root
        for step in schema["$ref"].lstrip("#/").split("/"):
            target = target[step]
        yield from check(value, target, root, where)
    for key, rule in schema.items():
        if key == "type":
            yield from check_type(value, rule, where)
        elif key == "const" and value != rule or key == "enum" and \
                value not in rule:
            yield f"{where}: {value!r} is not among {rule!r}"
        elif key == "pattern" and not re.search(rule, str(value)):
            yield f"{where}: {value!r} does not match {rule}"
        elif key == "minimum" and value < rule or key == "maximum" and \
                value > rule or key == "minLength" and len(value) < rule:
            yield f"{where}: {value!r} breaks {key} {rule}"
        elif key not in NOTES | {"type", "const", "enum", "pattern", "minimum",
                                 "maximum", "minLength", "minItems", "items",
                                 "properties", "required", "$ref",
                                 "additionalProperties"}:
            yield f"{where}: the schema uses {key}, which schema.py does not"
    if isinstance(value, dict):
        yield from check_object(value, schema, root, where)
    if isinstance(value, list):
        yield from check_array(value, schema, root, where)
