"""ApiChunker: endpoints of OpenAPI descriptions, in YAML and JSON."""

from __future__ import annotations

import json
import sys

import pytest
import rapidchunk as rc
import yaml
from rapidchunk.chunkers import ApiChunker
from rapidchunk.chunkers.openapi import read

PETS = """\
openapi: 3.0.0
info: {title: Pets é}
paths:
  /pets/{id}:
    parameters:
      - $ref: '#/components/parameters/Id'
    get:
      summary: Get a pet
      operationId: getPet
      tags: [pets]
      responses:
        200:
          description: ok
          content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}
    delete:
      responses: {'204': {description: gone}}
  /pets:
    post:
      summary: Add a pet
      requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
      responses: {'400': {$ref: '#/components/responses/Nowhere'}}
components:
  parameters:
    Id: {name: id, in: path, required: true, description: its number, schema: {type: integer}}
  schemas:
    Pet:
      type: object
      properties:
        mother: {$ref: '#/components/schemas/Pet'}
        kind: {enum: [cat, dog]}
        tags: {type: array, items: {type: string}}
        owner: {allOf: [{$ref: '#/components/schemas/Owner'}, {type: object}]}
    Owner: {type: object, properties: {pets: {type: array, items: {$ref: '#/components/schemas/Pet'}}}}
"""


@pytest.mark.parametrize("text", [PETS, json.dumps(yaml.safe_load(PETS), indent=2), json.dumps(yaml.safe_load(PETS))])
def test_operations(text):
    rows = list(rc.ApiChunker(150, tokenizer="words")(text))
    operations = [row for row in rows if row.metadata["kind"] == "operation"]
    assert [(row.metadata["method"], row.metadata["path"]) for row in operations] == [
        ("GET", "/pets/{id}"),
        ("DELETE", "/pets/{id}"),
        ("POST", "/pets"),
    ]
    get, delete, post = operations
    assert get.metadata["name"] == "getPet" and get.metadata["tags"] == ["pets"]
    assert get.metadata["headings"] == ("paths", "/pets/{id}", "GET")
    pet = "Pet {mother: Pet, kind: cat|dog, tags: [string], owner: Owner {pets: [Pet]} & object}"
    assert get.context.split("\n\n")[0] == (
        "GET /pets/{id}: Get a pet\n"
        "parameter id (path required): integer - its number\n"
        f"200 application/json: {pet} - ok"
    )
    assert "Get a pet" in get.text and "gone" not in get.text
    assert "parameter id" in delete.context and "/pets" in post.text
    assert post.context.startswith(f"POST /pets: Add a pet\nrequest application/json: {pet}")
    assert [row.metadata["name"] for row in rows if row.metadata["kind"] == "schema"] == ["Pet", "Owner"]
    assert all(len(row.context.split()) <= 150 for row in rows)


def test_a_small_maximum_keeps_what_matters_most():
    rows = list(rc.ApiChunker(14, tokenizer="words")(PETS))
    got = [row for row in rows if row.metadata["path"] == "/pets/{id}" and row.metadata["method"] == "GET"]
    assert all(row.context.startswith("GET /pets/{id}: Get a pet\n") for row in got[1:]) and len(got) > 2
    assert all(len(row.context.split()) <= 14 for row in rows)


def test_an_operation_has_its_context_even_where_it_fills_the_maximum():
    (whole,) = (row for row in rc.ApiChunker(500, tokenizer="words")(PETS) if row.metadata["name"] == "getPet")
    first = 5  # words of the first line
    for overlap in (0, 5):
        for size in range(whole.tokens, whole.tokens + first + 3):
            rows = rc.ApiChunker(size, overlap, tokenizer="words")(PETS)
            got = [row for row in rows if row.metadata["name"] == "getPet"]
            assert all(row.context.startswith("GET /pets/{id}: Get a pet\n") for row in got)
            assert all(len(row.context.split()) <= size for row in got)
        assert [row.text for row in got] == [whole.text]


def test_webhooks_paths_and_shapes():
    api = {
        "openapi": "3.1.0",
        "info": {"title": "T"},
        "paths": {"/a": {"summary": "All of a", "parameters": [{"name": "x", "in": "query", "schema": {}}] * 9}},
        "webhooks": {
            "newPet": {
                "post": {
                    "deprecated": True,
                    "requestBody": {
                        "content": {
                            kind: {"schema": {"additionalProperties": {"type": ["string", "null"]}}}
                            for kind in ("application/json", "application/xml")
                        }
                    },
                }
            }
        },
    }
    info, path, webhook = rc.ApiChunker()(json.dumps(api, indent=2))
    assert info.text.startswith('{\n  "openapi"') and info.metadata["headings"] == ("info",)
    assert (path.metadata["kind"], path.metadata["path"], path.metadata["summary"]) == ("path", "/a", "All of a")
    assert path.context.startswith("/a: All of a\nparameter x (query): any\n")
    assert [webhook.metadata[name] for name in ("kind", "method", "path", "name")] == [
        "webhook",
        "POST",
        None,
        "newPet",
    ]
    assert webhook.context.startswith(
        "webhook POST newPet (deprecated)\nrequest application/json, application/xml: {*: string|null}\n\n"
    )


def test_wide_and_deep_schemas_are_cut_short():
    schemas = {
        f"S{i}": {"properties": {f"p{j}": {"$ref": f"#/components/schemas/S{i + 1}"} for j in range(60)}}
        for i in range(9)
    }
    get = {"parameters": [{"name": "x", "in": "query", "schema": {"$ref": "#/components/schemas/S0"}}]}
    api = {"paths": {"/x": {"get": get}}, "components": {"schemas": schemas}}
    row = next(row for row in rc.ApiChunker(100_000)(json.dumps(api)) if row.metadata["kind"] == "operation")
    assert len(row.context) < 50_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid JSON"),
        ("[" * 100_000, "neither JSON nor YAML"),
        ('{"a":' * 100_000, "nested too deeply"),
        ("a: [", "neither JSON nor YAML"),
        ("7", "must be an object, not int"),
    ],
)
def test_what_cannot_be_read_is_named(text, message):
    with pytest.raises(ValueError, match=f"document 1: .*{message}"):
        rc.ApiChunker()(["{}", text])


def test_without_yaml(monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    assert len(rc.ApiChunker()('{"a": 1}')) == 1
    with pytest.raises(ImportError, match=r"rapidchunk\[api\]"):
        rc.ApiChunker()("a: 1")


@pytest.mark.parametrize(
    "text",
    ['{"a": 1,}', '{"a" 1}', '{"a": 1 "b": 2}', '{"a": 1} {}', '{"a": 1}x', "{", '{"a"', '{"a":', '{"paths": {"/x": {"get": }}}',
     '{"paths": {"/x": {"get": {},}}}', '{a: 1}', '{"paths": {"/x": {"get": {}}}', '{"a": "\n"}', "\u00a0{}"],
)  # fmt: skip
def test_what_is_no_json_is_refused_as_json_does(text):
    with pytest.raises(ValueError, match="document 0: the description is not valid JSON") as caught:
        ApiChunker()(text)
    with pytest.raises(ValueError) as wanted:
        json.loads(text)
    assert str(wanted.value) in str(caught.value)


def test_a_description_is_read_as_json_reads_it():
    """Values that come twice, that are no objects, and references into paths."""
    text = """{"openapi": "3.0.0", "paths": {"/a": {"get": {"summary": "old"}, "parameters": [{"name": "q", "in": "query"}],
      "get": {"summary": "new", "responses": {"200": {"$ref": "#/paths/~1b/post"}}}}, "/b": {"post": {"description": "Told."}},
      "/c": null, "/d": {}, "/e": {"get": 5}}, "components": {"schemas": {}, "x": []}, "definitions": {"Pet": {}}} """
    api, starts = read(text)
    assert json.loads(json.dumps(api, default=dict)) == json.loads(text)
    assert [text[at] for at, _ in starts] == ['"'] * len(starts)
    assert ("paths", "/b", "post") in [place for _, place in starts]
    context = next(c for c in ApiChunker()(text).extra["context"] if c and "GET /a" in c)
    assert "new" in context and "200: Told." in context
