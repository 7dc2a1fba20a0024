"""What the service understands, as OpenAPI 3.1 and as a page for people."""

from __future__ import annotations

from html import escape

from thrifty.typing import Json

__all__ = ["description", "page"]

_ROW: Json = {
    "type": "object",
    "required": ["task"],
    "additionalProperties": False,
    "properties": {
        "task": {"type": "string", "description": "a task that GET /tasks lists"},
        "id": {
            "type": "string",
            "description": "of the row; what was paid for under it is not booked again",
        },
        "values": {
            "type": "object",
            "description": "all that is known of the row, by feature; null is a known gap",
            "additionalProperties": {"type": ["number", "string", "boolean", "null"]},
        },
        "sure": {"type": "number", "description": "stop once so sure, as thrifty.Sure; 0.5 to 1"},
        "per_row": {"type": "number", "description": "the most that the row may cost"},
    },
}
_ANSWER: Json = {
    "type": "object",
    "properties": {
        "task": {"type": "string"},
        "id": {"type": "string"},
        "next": {
            "type": "array",
            "items": {"type": "string"},
            "description": "values that are asked next: send the row again with them",
        },
        "value": {"description": "the answer, once nothing more is asked"},
        "classes": {"type": "array"},
        "probabilities": {"type": ["array", "null"], "items": {"type": "number"}},
        "stopped": {"type": "string"},
        "cost": {"type": "number", "description": "what was booked for this answer"},
        "cells": {"type": "integer"},
    },
}


def description(version: str) -> Json:
    """The OpenAPI description."""
    problem = {"description": "what was wrong, in a sentence"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Thrifty", "version": version},
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{"token": []}],
        "paths": {
            "/tasks": {
                "get": {
                    "summary": "The tasks, and the features that each may ask for",
                    "responses": {"200": {"description": "a list"}, "403": problem},
                }
            },
            "/row": {
                "post": {
                    "summary": "Answer a row, or say which values are asked next",
                    "requestBody": {"content": {"application/json": {"schema": _ROW}}},
                    "responses": {
                        "200": {
                            "description": "the answer, or what is asked next",
                            "content": {"application/json": {"schema": _ANSWER}},
                        },
                        "400": problem,
                        "402": problem,
                        "403": problem,
                        "404": problem,
                    },
                }
            },
        },
    }


def page(version: str) -> str:
    """The same for people; it needs no script."""
    told = description(version)
    paths = told["paths"]
    assert isinstance(paths, dict)
    rows = [
        f"<li><code>{verb.upper()} {escape(path)}</code>: {escape(said['summary'])}</li>"
        for path, verbs in paths.items()
        for verb, said in verbs.items()
    ]
    known = _ROW["properties"]
    assert isinstance(known, dict)
    fields = [
        f"<li><code>{escape(name)}</code>: {escape(str(said['description']))}</li>"
        for name, said in known.items()
    ]
    return (
        "<!doctype html><meta charset='utf-8'><title>Thrifty</title>"
        f"<h1>Thrifty {escape(version)}</h1>"
        "<p>Send the token that was printed: <code>Authorization: Bearer TOKEN</code>. "
        "<a href='/openapi.json'>OpenAPI</a>.</p>"
        f"<ul>{''.join(rows)}</ul><p>A row:</p><ul>{''.join(fields)}</ul>"
    )
