"""Our schemas are sound, and a document that breaks one is told so."""

import json
import os
import sys
import unittest

import schema

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
SCHEMAS = ("osu-extensions/schema.json", "tools/doctor.schema.json")


class Schema(unittest.TestCase):

    def test_ours_are_sound_and_have_no_keyword_that_is_passed_over(self):
        for name in SCHEMAS:
            with open(os.path.join(TREE, name), encoding="utf-8") as file:
                ours = json.load(file)
            schema.validator().check_schema(ours)
            self.assertEqual(list(schema.unknown(ours)), [], name)
            # a relative $id would be the base that "#/$defs/..." is sought at
            self.assertRegex(ours["$id"], "^https://")

    def test_a_misspelt_keyword_is_found_at_any_depth(self):
        self.assertEqual(
            list(schema.unknown({"properties": {"maximun": {"items": {
                "requierd": ["a"]}}}})), ["requierd"])

    def test_what_breaks_a_schema_is_named(self):
        found = list(schema.check({"a": [1, True]}, {
            "properties": {"a": {"items": {"type": "integer"}}}}))
        self.assertEqual(len(found), 1)
        self.assertIn("$.a[1]", found[0])


if __name__ == "__main__":
    if not schema.jsonschema:
        print(schema.MISSING)
        sys.exit(77)
    unittest.main()
