"""Checks documents against this project's JSON schemas, by jsonschema (Debian's
python3-jsonschema). On a machine without it, as one that a build was carried
to, nothing is checked; unit/schema is skipped there and says so."""

try:
    import jsonschema
except ImportError:
    jsonschema = None

MISSING = "skipped: no python3-jsonschema here"
# Keywords that say something of a schema, and nothing of a document.
NOTES = {"$schema", "$id", "$defs", "title", "description"}
NAMED = ("properties", "$defs")  # names of the user's, a schema each


def unknown(schema):
    """Keywords that jsonschema would pass over, as misspelt ones."""
    if not isinstance(schema, dict):
        return
    for keyword, rule in schema.items():
        if keyword not in NOTES | validator().VALIDATORS.keys():
            yield keyword
        inner = rule.values() if keyword in NAMED else [rule]
        for part in inner:
            yield from unknown(part)


def validator():
    return jsonschema.Draft202012Validator


def check(document, schema):
    """Yields a line for each thing in document that schema does not allow."""
    if jsonschema:
        for error in validator()(schema).iter_errors(document):
            yield f"{error.json_path}: {error.message}"
